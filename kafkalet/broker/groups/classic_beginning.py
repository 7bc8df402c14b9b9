"""The wait before an empty classic group begins a generation, so that those who start together begin together.

With `group.initial.rebalance.delay.ms` it lasts that long, and again as long while new members come, up to the longest
rebalance timeout (Kafka's InitialDelayedJoin). Where the property is not given, it lasts as long as somebody is seen
coming (arrivals.py), which for a consumer alone is not at all.
"""

from collections.abc import Callable

from .arrivals import LONGEST_MS, QUIET_MS
from .classic_members import ClassicMembers
from .shard import Shard

PROPERTY = "group.initial.rebalance.delay.ms"


class Beginning:
    """One group's waits. `later` calls back after some milliseconds, `complete` ends the wait."""

    def __init__(
        self,
        shard: Shard,
        group_id: str,
        members: ClassicMembers,
        later: Callable[[int, Callable[[], None]], None],
        complete: Callable[[], None],
    ) -> None:
        self._shard = shard
        self._group_id = group_id
        self._members = members
        self._later = later
        self._complete = complete
        self._newcomers = False
        self._newcomer_ms = 0

    def newcomer(self, *, prolongs: bool) -> None:
        """Somebody new has come meanwhile; whether that makes the wait longer depends on the release."""
        self._newcomers = prolongs
        self._newcomer_ms = self._shard.clock.now_ms()

    def wait(self) -> None:
        """Begin to wait, or complete at once."""
        self._newcomers = False
        config = self._shard.node.config
        if PROPERTY not in config.given():
            self._newcomer_ms = self._shard.clock.now_ms()
            self._wait_for_arrivals(self._newcomer_ms + LONGEST_MS)
            return
        delay_ms = config.group_initial_rebalance_delay_ms
        self._wait_for_more(delay_ms, max(self._members.rebalance_timeout_ms - delay_ms, 0))

    def _wait_for_more(self, delay_ms: int, remaining_ms: int) -> None:
        if delay_ms <= 0:
            self._complete()
            return

        def due() -> None:
            if not self._newcomers or not remaining_ms:
                self._complete()
                return
            self._newcomers = False
            longest_ms = self._shard.node.config.group_initial_rebalance_delay_ms
            self._wait_for_more(min(longest_ms, remaining_ms), max(remaining_ms - delay_ms, 0))

        self._later(delay_ms, due)

    def _wait_for_arrivals(self, until_ms: int) -> None:
        now_ms, arrivals = self._shard.clock.now_ms(), self._shard.node.coordinators.groups.arrivals
        quiet_ms = now_ms - max(arrivals.last_ms(self._group_id), self._newcomer_ms)
        comes = arrivals.expects_more(self._group_id, len(self._members))
        if comes and quiet_ms < QUIET_MS and now_ms < until_ms:
            self._later(QUIET_MS - quiet_ms, lambda: self._wait_for_arrivals(until_ms))
            return
        arrivals.forget(self._group_id)
        self._complete()
