"""The clients that have asked for the coordinator of a group lately: they may join it soon (delayed_join.py)."""

from kafkalet.broker.client import Client
from kafkalet.clock import Clock, Timer

LATELY_MS = 200


class Arrivals:
    """Who has asked for the coordinator of which group lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[str, dict[Client, int]] = {}
        """The connections that have asked, and when."""
        self._pruning: Timer | None = None

    def __len__(self) -> int:
        """How many connections are remembered, once for each group."""
        return sum(map(len, self._groups.values()))

    def note(self, group_id: str, client: Client) -> None:
        """A client asks for the coordinator of a group."""
        self._groups.setdefault(group_id, {})[client] = self._clock.now_ms()
        if self._pruning is None:
            self._pruning = self._clock.call_later(LATELY_MS, self._prune)

    def last_ms(self, group_id: str) -> int:
        """When a client asked last; 0 if none did lately."""
        return max(self._groups.get(group_id, {}).values(), default=0)

    def expects_more(self, group_id: str, members: int) -> bool:
        """Whether there are signs of more clients than those who have joined."""
        since_ms = self._clock.now_ms() - LATELY_MS
        lately = [client for client, asked_ms in self._groups.get(group_id, {}).items() if asked_ms >= since_ms]
        return len(lately) > 2 * members or sum(not client.is_closed for client in lately) > members

    def forget(self, group_id: str) -> None:
        """The group has begun: who comes now comes too late."""
        self._groups.pop(group_id, None)

    def _prune(self) -> None:
        """Forget what is long ago, and the connections with it; look again while something is left."""
        since_ms = self._clock.now_ms() - LATELY_MS
        kept: dict[str, dict[Client, int]] = {}
        for group_id, clients in self._groups.items():
            lately = {client: asked_ms for client, asked_ms in clients.items() if asked_ms > since_ms}
            if lately:
                kept[group_id] = lately
        self._groups = kept
        self._pruning = self._clock.call_later(LATELY_MS, self._prune) if kept else None
