"""Clients that recently looked up a group's coordinator and may therefore join the group soon (see delayed_join.py)."""

from kafkalet.broker.client import Client
from kafkalet.clock import Clock, Timer

RECENT_MS = 200


class RecentLookups:
    """The FindCoordinator requests of the last 200 ms, keyed by group."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[str, dict[Client, int]] = {}
        """The time of the last lookup, keyed by group and connection."""
        self._pruning: Timer | None = None

    def __len__(self) -> int:
        """Return the number of remembered connections. A connection counts once for each group."""
        return sum(map(len, self._groups.values()))

    def note(self, group_id: str, client: Client) -> None:
        """Record that a client has looked up the coordinator of a group."""
        self._groups.setdefault(group_id, {})[client] = self._clock.now_ms()
        if self._pruning is None:
            self._pruning = self._clock.call_later(RECENT_MS, self._prune)

    def last_ms(self, group_id: str) -> int:
        """Return the time of the last lookup of a group's coordinator, or 0 if there was none recently."""
        return max(self._groups.get(group_id, {}).values(), default=0)

    def expects_more(self, group_id: str, members: int) -> bool:
        """Return whether recent lookups suggest that more clients will join than the `members` that have joined."""
        since_ms = self._clock.now_ms() - RECENT_MS
        recent = [client for client, looked_up_ms in self._groups.get(group_id, {}).items() if looked_up_ms >= since_ms]
        return len(recent) > 2 * members or sum(not client.is_closed for client in recent) > members

    def forget(self, group_id: str) -> None:
        """Drop the lookups of a group whose first generation has started."""
        self._groups.pop(group_id, None)

    def _prune(self) -> None:
        """Drop old lookups along with their connections. If any are left, schedule the next run."""
        since_ms = self._clock.now_ms() - RECENT_MS
        kept: dict[str, dict[Client, int]] = {}
        for group_id, clients in self._groups.items():
            recent = {client: looked_up_ms for client, looked_up_ms in clients.items() if looked_up_ms > since_ms}
            if recent:
                kept[group_id] = recent
        self._groups = kept
        self._pruning = self._clock.call_later(RECENT_MS, self._prune) if kept else None
