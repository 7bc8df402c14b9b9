"""Who is on the way into a group: so that consumers that start together begin together.

A classic group that begins with its first member alone makes everybody else wait until that member's next heartbeat,
three seconds with most clients. Kafka's way out is `group.initial.rebalance.delay.ms`, three seconds as well. Here, as
long as nobody sets that property, the first generation waits only for consumers that can be seen coming: whoever wants
to join asks for the group's coordinator first.

Not everybody who asks will join, so nobody is waited for longer than a moment: `QUIET_MS` after the last sign of
somebody, `LONGEST_MS` in all. A consumer alone is not kept waiting. Some clients ask twice, on a connection that they
close and on a second one: a group waits if more connections have asked and are still open than members have joined, or
if more than twice as many have asked.
"""

from collections import OrderedDict

from kafkalet.broker.context import Client

LATELY_MS = 200
QUIET_MS = 40
LONGEST_MS = 300


class Arrivals:
    """Who has asked for the coordinator of which group lately."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, dict[Client, int]] = OrderedDict()

    def note(self, group_id: str, client: Client, now_ms: int) -> None:
        """A client asks for the coordinator of a group."""
        for other in list(self._groups):
            if self.last_ms(other) >= now_ms - LATELY_MS:
                break
            del self._groups[other]
        self._groups.setdefault(group_id, {})[client] = now_ms
        self._groups.move_to_end(group_id)

    def last_ms(self, group_id: str) -> int:
        """When somebody asked last; 0 where nobody did."""
        return max(self._groups.get(group_id, {}).values(), default=0)

    def expects_more(self, group_id: str, members: int, now_ms: int) -> bool:
        """Whether there are signs of more clients than those who have joined."""
        lately = [
            client for client, asked_ms in self._groups.get(group_id, {}).items() if asked_ms >= now_ms - LATELY_MS
        ]
        return len(lately) > 2 * members or sum(not client.is_closed for client in lately) > members

    def forget(self, group_id: str) -> None:
        """The group has begun: who comes now comes too late."""
        self._groups.pop(group_id, None)
