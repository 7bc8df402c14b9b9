"""What a user sees of a log or of a group, from whatever thread he asks."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.log import Log

T = TypeVar("T")


class SegmentView(NamedTuple):
    """A segment of a log as it is now."""

    base_offset: int
    size_bytes: int
    largest_timestamp: int
    """-1 where no record has one."""


class LogView:
    """A live view of the log of one partition; each attribute is read when it is asked for."""

    def __init__(self, log: Log, call: Callable[[Callable[[], T]], T]) -> None:
        self._log = log
        self._call: Callable[[Callable[[], object]], object] = call  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<{self._log.topic}-{self._log.partition}: log start offset {self.log_start_offset}, last stable offset "
            f"{self.last_stable_offset}, high watermark {self.high_watermark}, log end offset {self.log_end_offset}>"
        )

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self._log.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        """The first offset that read_committed does not see."""
        return self._log.last_stable_offset

    @property
    def high_watermark(self) -> int:
        """The first offset that no consumer sees."""
        return self._log.high_watermark

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._log.log_end_offset

    @property
    def segments(self) -> list[SegmentView]:
        """The segments, oldest first."""

        def look() -> list[SegmentView]:
            return [
                SegmentView(segment.base_offset, segment.size_bytes, segment.largest.timestamp)
                for segment in self._log.segments
            ]

        views = self._call(look)
        assert isinstance(views, list)
        return views

    @property
    def batches(self) -> list[Batch]:
        """Every batch on disk, also those below the log start offset that were not deleted yet; all are read."""

        def look() -> list[Batch]:
            return [batch for segment in self._log.segments for _, batch in segment.entries()]

        found = self._call(look)
        assert isinstance(found, list)
        return found


class GroupView:
    """A live view of a group; each attribute is read when it is asked for. `nodes` are the brokers that are alive."""

    def __init__(self, group_id: str, nodes: Mapping[int, Any], call: Callable[[Callable[[], Any]], Any]) -> None:
        self.group_id = group_id
        self._nodes = nodes
        self._call = call

    def __repr__(self) -> str:
        return f"<group {self.group_id}: {self.state}, {len(self.members)} members, offsets {self.offsets}>"

    @property
    def state(self) -> str:
        """ "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", or of the consumer protocol "Assigning",
        "Reconciling"; "Dead" where there is no such group."""
        state: str = self._look(lambda group, _: group.state if group is not None else "Dead", "Dead")
        return str(state)

    @property
    def members(self) -> list[str]:
        """The ids of its members."""
        members: list[str] = self._look(
            lambda group, _: [member.member_id for member in group.members] if group is not None else [], []
        )
        return members

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """What it has committed, by topic and partition, without what open transactions may still commit."""
        found: dict[tuple[str, int], int] = self._look(
            lambda _, offsets: {
                (topic, partition): committed.offset
                for topic, by_partition in offsets.committed(self.group_id).items()
                for partition, committed in by_partition.items()
            },
            {},
        )
        return found

    def _look(self, see: Callable[[Any, Any], Any], nothing: Any) -> Any:
        def look() -> Any:
            for node in self._nodes.values():
                try:
                    shard = node.coordinators.groups.shard_for_offsets(self.group_id)
                except KafkaError:
                    continue  # another broker coordinates it
                return see(shard.groups.get(self.group_id), shard.offsets)
            return nothing

        return self._call(look)


class TransactionView(NamedTuple):
    """A transactional id as it was when it was asked for. Times are milliseconds since 1970."""

    transactional_id: str
    state: str
    """Kafka's name: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort."""
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: list[tuple[str, int]]
    """Of the open transaction; once it is decided, those that still lack their marker."""
    started_ms: int
    """When the last transaction began, -1 before the first."""
    coordinator: int
    """The broker that coordinates it."""
