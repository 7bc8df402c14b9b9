"""The wait before an empty classic group begins its first generation (Kafka's InitialDelayedJoin).

A group that began with its first member alone would make all others wait until that member's next heartbeat, three
seconds with most clients.

With `group.initial.rebalance.delay.ms` the wait lasts that long, and again as long while new members come, up to the
longest rebalance timeout. Where the property is not given, the group waits only while other consumers can be seen
coming: a client asks for the group's coordinator before it joins. A consumer alone does not wait.

Not every client that asks will join, so the wait is short: until `QUIET_MS` after the last sign of a client, at most
`LONGEST_MS`. Some clients ask twice, on a connection that they close and on a second one: a group waits if more
connections have asked and are still open than members have joined, or if more than twice as many have asked.
"""

from collections.abc import Callable

from kafkalet.broker.groups.shard import Shard

from .members import ClassicMembers

PROPERTY = "group.initial.rebalance.delay.ms"

QUIET_MS = 40
LONGEST_MS = 300


class InitialDelayedJoin:
    """The wait of one group. `later` calls back after some milliseconds, `complete` ends the wait."""

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
        self._new_member_added = False
        self._new_member_ms = 0

    def new_member_added(self, *, prolongs: bool) -> None:
        """A new member has joined meanwhile; whether that prolongs the wait depends on the release."""
        self._new_member_added = prolongs
        self._new_member_ms = self._shard.clock.now_ms()

    def wait(self) -> None:
        """Begin to wait, or complete at once."""
        self._new_member_added = False
        config = self._shard.node.config
        if PROPERTY not in config.given():
            self._new_member_ms = self._shard.clock.now_ms()
            self._wait_for_arrivals(self._new_member_ms + LONGEST_MS)
            return
        delay_ms = config.group_initial_rebalance_delay_ms
        self._wait_for_more(delay_ms, max(self._members.rebalance_timeout_ms - delay_ms, 0))

    def _wait_for_more(self, delay_ms: int, remaining_ms: int) -> None:
        if delay_ms <= 0:
            self._complete()
            return

        def due() -> None:
            if not self._new_member_added or not remaining_ms:
                self._complete()
                return
            self._new_member_added = False
            longest_ms = self._shard.node.config.group_initial_rebalance_delay_ms
            self._wait_for_more(min(longest_ms, remaining_ms), max(remaining_ms - delay_ms, 0))

        self._later(delay_ms, due)

    def _wait_for_arrivals(self, until_ms: int) -> None:
        now_ms, arrivals = self._shard.clock.now_ms(), self._shard.arrivals
        quiet_ms = now_ms - max(arrivals.last_ms(self._group_id), self._new_member_ms)
        comes = arrivals.expects_more(self._group_id, len(self._members))
        if comes and quiet_ms < QUIET_MS and now_ms < until_ms:
            self._later(QUIET_MS - quiet_ms, lambda: self._wait_for_arrivals(until_ms))
            return
        arrivals.forget(self._group_id)
        self._complete()
