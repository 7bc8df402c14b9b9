"""The delay before an empty classic group starts its first generation (Kafka's InitialDelayedJoin).

Without the delay, the first member would start a generation alone, and all others would have to wait for its next
heartbeat before they could join. Most clients send a heartbeat every three seconds.

If `group.initial.rebalance.delay.ms` is set, the delay has that length and is extended by the same length whenever new
members join, up to the largest rebalance timeout. If it is not set, the group waits only while more consumers appear to
be on their way, because clients look up the coordinator before they join. A single consumer does not wait.

Not every client that looks up the coordinator joins the group, so the delay is short: it ends `QUIET_MS` after the last
lookup or join, and lasts no longer than `LONGEST_MS`. Some clients look up the coordinator twice, the first time on a
connection that they close afterwards. The group therefore waits if the number of open connections that sent a lookup
exceeds the number of members, or if there were more than twice as many lookups as members. All of this is real time,
because clients send requests even if the clock of a test stands still.
"""

from collections.abc import Callable

from kafkalet.broker.groups.shard import Shard
from kafkalet.clock import Clock
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import until

from .members import ClassicMembers

PROPERTY = "group.initial.rebalance.delay.ms"

QUIET_MS = 40
LONGEST_MS = 300


class InitialDelayedJoin:
    """The initial delay of one group. `pause` returns a Delayed that ends after a number of milliseconds on a clock."""

    def __init__(
        self, shard: Shard, group_id: str, members: ClassicMembers, pause: Callable[[int, Clock], Delayed[None]]
    ) -> None:
        self._shard = shard
        self._group_id = group_id
        self._members = members
        self._pause = pause
        self._new_member_added = False
        self._new_member_ms = 0

    def new_member_added(self, *, prolongs: bool) -> None:
        """Record that a new member has joined during the delay.

        Whether this extends the delay (`prolongs`) depends on the Kafka release.
        """
        self._new_member_added = prolongs
        self._new_member_ms = self._shard.node.real_clock.now_ms()

    async def wait(self) -> None:
        """Wait until the first generation may start, which may be at once."""
        self._new_member_added = False
        if PROPERTY in self._shard.node.config.given():
            await self._wait_for_more()
        else:
            await self._wait_for_expected()

    async def _wait_for_more(self) -> None:
        config = self._shard.node.config
        delay_ms = config.group_initial_rebalance_delay_ms
        remaining_ms = max(self._members.rebalance_timeout_ms - delay_ms, 0)
        while delay_ms > 0:
            await until(self._pause(delay_ms, self._shard.client_clock))
            if not self._new_member_added:
                return
            self._new_member_added = False
            elapsed_ms, delay_ms = delay_ms, min(config.group_initial_rebalance_delay_ms, remaining_ms)
            remaining_ms = max(remaining_ms - elapsed_ms, 0)

    async def _wait_for_expected(self) -> None:
        clock, lookups = self._shard.node.real_clock, self._shard.lookups
        now_ms = self._new_member_ms = clock.now_ms()
        end_ms = now_ms + LONGEST_MS
        while lookups.expects_more(self._group_id, len(self._members)) and now_ms < end_ms:
            quiet_ms = now_ms - max(lookups.last_ms(self._group_id), self._new_member_ms)
            if quiet_ms >= QUIET_MS:
                break
            await until(self._pause(QUIET_MS - quiet_ms, clock))
            now_ms = clock.now_ms()
        lookups.forget(self._group_id)
