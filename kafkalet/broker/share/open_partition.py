"""A share partition on the broker that leads its partition: its state in memory, and how it is persisted.

The state is read from the share coordinator when the first member fetches. Until then, and if that fails, there are no
records to acquire. An acknowledgement is persisted before it takes effect (share_partition.py); if another broker may
have become leader, or the state was reset, the share partition is fenced: it is dropped, and opened again when a member
fetches the next time. Records that were acquired then are available again.

Source: kafka.server.share.SharePartition (maybeInitialize, writeShareGroupState, fetchPersisterError).
"""

from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from kafkalet.broker.cluster.controller import Controller
from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.clock import Timer
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.lookup import EARLIEST
from kafkalet.storage.values import UNKNOWN_OFFSET, Isolation, LogOffsetMetadata
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached, start, until

from .configuration import DeadLetterQueue, ShareGroupConfigs
from .in_flight import Run
from .persister import SharePersister
from .share_partition import Acknowledgement, SharePartition, Update
from .state import UNINITIALIZED, SharePartitionKey, StateBatch

FENCING = frozenset(
    {
        *(Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_STATE_EPOCH, Code.GROUP_ID_NOT_FOUND),
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The errors after which a share partition is dropped."""
_CLIENT_CODES = {
    Code.NOT_COORDINATOR: Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_NOT_AVAILABLE: Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_LOAD_IN_PROGRESS: Code.COORDINATOR_NOT_AVAILABLE,
    Code.GROUP_ID_NOT_FOUND: Code.GROUP_ID_NOT_FOUND,
    Code.UNKNOWN_TOPIC_OR_PARTITION: Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.FENCED_LEADER_EPOCH: Code.NOT_LEADER_OR_FOLLOWER,
    Code.FENCED_STATE_EPOCH: Code.NOT_LEADER_OR_FOLLOWER,
}


class OpenSharePartition:
    """A share partition that members of a group use. `changed` is called when a waiting member may get records."""

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        node: Node,
        persister: SharePersister,
        configs: ShareGroupConfigs,
        controller: Controller,
        changed: Callable[["OpenSharePartition"], None],
    ) -> None:
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.state: SharePartition | None = None
        """What is in flight; None until it is loaded."""
        self.failure: KafkaError | None = None
        """Why it could not be loaded."""
        self.is_fenced = False
        self.position = LogOffsetMetadata(UNKNOWN_OFFSET)
        """Where the next records to acquire are, as found by `locate`."""
        self._located = UNKNOWN_OFFSET
        self._node = node
        self._persister = persister
        self._configs = configs
        self._controller = controller
        self._changed = changed
        self._state_epoch = 0
        self._timer: Timer | None = None
        self._due_ms = 0

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads the partition, and has since the share partition was opened."""
        partition = self.partition
        held = self._node.partitions.get((partition.topic, partition.index)) is partition
        return held and not self.is_fenced and partition.is_leader and partition.leader_epoch == self.leader_epoch

    def fence(self) -> None:
        """Use the share partition no more."""
        self.is_fenced = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._changed(self)

    # Loading

    def load(self) -> None:
        """Begin to read the state. `changed` is called at the end."""
        self._start(self._load())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that may have to wait for a file, independently of any request."""
        start(work, self._node.turns, self._node.workers)

    async def _load(self) -> None:
        key = self.key
        try:
            stored = await self._persister.read(*key, self.leader_epoch)
            first = stored.start_offset
            if first == UNINITIALIZED:
                first = await self._first_offset()
            self.state = SharePartition(lambda: self._configs.limits(key.group_id), first, stored.batches)
            self._state_epoch = stored.state_epoch
            self._bury_dead(self.state)
        except KafkaError as error:
            self.failure = _for_client(error)
        self._changed(self)

    async def _first_offset(self) -> int:
        """Return the offset at which a new group begins to read."""
        timestamp = self._configs.first_timestamp(self.key.group_id)
        isolation = None if timestamp == EARLIEST else Isolation.HIGH_WATERMARK
        found = await self.partition.offset_for(timestamp, isolation, self.leader_epoch, True)
        if found is None:
            raise KafkaError(Code.OFFSET_NOT_AVAILABLE)
        return found.offset

    def locate(self, offset: int, isolation: Isolation) -> bool:
        """Set `position` to that of an offset. Return whether the log had to be read for it. Raises KafkaError."""
        if self._located == offset:
            return False
        result = self.partition.read(offset, 1, isolation, True, None, None).result
        assert result is not None, "no reader has diverged"
        self._located, self.position = offset, result.position
        return True

    # Changes

    @detached
    async def acknowledge(self, member: str, acknowledgements: Iterable[Acknowledgement]) -> KafkaError | None:
        """Apply what a member says about its records. Return the error if none of it was applied."""
        if self.state is None:
            return KafkaError(Code.INVALID_RECORD_STATE)
        try:
            update = self.state.acknowledge(member, acknowledgements, self.now_ms)
        except KafkaError as error:
            if error.code is Code.UNKNOWN_SERVER_ERROR:
                raise
            return error
        return await self._persist(self.state, update)

    @detached
    async def release(self, member: str) -> KafkaError | None:
        """Release what a member has acquired."""
        if self.state is None:
            return None
        return await self._persist(self.state, self.state.release(member, self.now_ms))

    async def _persist(self, state: SharePartition, update: Update) -> KafkaError | None:
        self.acquired()  # some may have been renewed
        if not update.batches:
            return None
        failure = None
        await until(self._soon())
        try:
            await self._write(update.batches, update.start_offset, update.delivery_complete_count)
        except KafkaError as error:
            state.roll_back(update, self.now_ms)
            failure = _for_client(error)
        else:
            state.commit(update, self.now_ms)
            self._bury_dead(state)
        self._changed(self)
        return failure

    def _soon(self) -> Delayed[None]:
        """Return what is completed soon: in Kafka, requests to the share coordinator take time.

        So a request that releases records and fetches others does not get the released ones, if there are others.
        """
        soon: Delayed[None] = Delayed()
        self._node.call_soon(partial(soon.complete, None))
        return soon

    def _write(
        self, batches: list[StateBatch], start_offset: int, delivery_complete_count: int
    ) -> Coroutine[Any, Any, None]:
        return self._persister.write(
            *self.key, self._state_epoch, self.leader_epoch, start_offset, delivery_complete_count, batches
        )

    # Locks

    @property
    def now_ms(self) -> int:
        return self._node.clock.now_ms()

    def acquired(self) -> None:
        """Set the timer for the next lock that expires. Must be called after records were acquired."""
        due_ms = None if self.state is None else self.state.next_expiry_ms()
        if due_ms is None or (self._timer is not None and self._due_ms <= due_ms) or self.is_fenced:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due_ms = due_ms
        self._timer = self._node.clock.call_later(max(due_ms - self.now_ms, 0), self._expire)

    def expire_locks(self, member: str | None) -> int:
        """Let the locks of a member, or all, expire now. Return how many records were locked."""
        count = 0 if self.state is None else self.state.end_locks(member, self.now_ms)
        if count:
            self._expire()
        return count

    def _expire(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.is_current:
            self.fence()
        elif self.state is not None:
            batches = self.state.expire(self.now_ms)
            self.acquired()
            if batches:
                self._persist_expired(self.state, batches)

    @detached
    async def _persist_expired(self, state: SharePartition, batches: list[StateBatch]) -> None:
        """Persist that locks have expired; they have expired in any case."""
        try:
            await self._write(batches, state.start_offset, state.delivery_complete_count)
        except KafkaError as error:
            if _for_client(error).code in FENCING:
                self.fence()
        state.advance()
        self._bury_dead(state)
        self._changed(self)

    # Dead letters

    def _bury_dead(self, state: SharePartition) -> None:
        queue = self._configs.dead_letter_queue(self.key.group_id)
        for run in state.take_dead():
            self._start(self._bury(state, run, queue))

    async def _bury(self, state: SharePartition, run: Run, queue: DeadLetterQueue | None) -> None:
        """Write records to the dead letter queue, unless the group has none any more, and archive them."""
        if queue is not None:
            from .dead_letters import bury

            await bury(self.key, self.partition, run, queue, self._controller)
        batch = state.buried(run)
        with suppress(KafkaError):  # they are archived nevertheless, and again after a restart
            await self._write([batch], state.start_offset, state.delivery_complete_count)
        state.advance()
        self._changed(self)


def _for_client(error: KafkaError) -> KafkaError:
    """Return the error of the share coordinator as the clients of this broker see it."""
    if error.code in (Code.OFFSET_NOT_AVAILABLE, Code.NOT_LEADER_OR_FOLLOWER, Code.KAFKA_STORAGE_ERROR):
        return error
    return KafkaError(_CLIENT_CODES.get(error.code, Code.UNKNOWN_SERVER_ERROR), error.message)
