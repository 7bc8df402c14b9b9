"""A consumer group member that polls until it is killed.

    python -m tests.clients.killed_member CLIENT[/consumer] SERVERS GROUP TOPIC

With `/consumer` it uses the new consumer protocol, in which the broker sets the session timeout.
"""

import sys

from .drivers import DRIVERS


def main(client: str, servers: str, group: str, topic: str) -> None:
    driver, _, protocol = client.partition("/")
    settings = {"group_protocol": protocol} if protocol else {"session_timeout_ms": SESSION_TIMEOUT_MS}
    member = DRIVERS[driver](servers).member(group, topic, **settings)
    while not member.assignment():
        member.poll()
    print(sorted(member.assignment()), flush=True)
    while True:
        member.poll()


SESSION_TIMEOUT_MS = 600
"""The session timeout of a classic member, in milliseconds."""

if __name__ == "__main__":
    main(*sys.argv[1:])
