"""A member of a group that lives until it is killed: `python -m tests.clients.doomed CLIENT SERVERS GROUP TOPIC`."""

import sys

from .drivers import DRIVERS


def main(client: str, servers: str, group: str, topic: str) -> None:
    member = DRIVERS[client](servers).member(group, topic, session_timeout_ms=SESSION_TIMEOUT_MS)
    while not member.assignment():
        member.poll()
    print(sorted(member.assignment()), flush=True)
    while True:
        member.poll()


SESSION_TIMEOUT_MS = 600
"""After what silence its partitions go to others."""

if __name__ == "__main__":
    main(*sys.argv[1:])
