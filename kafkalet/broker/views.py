"""The public views of logs and transactions. They may be used in any thread."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.log import Log

T = TypeVar("T")


class Call(Protocol):
    """Runs a function in the event loop of the brokers, and returns its result."""

    def __call__(self, function: Callable[[], T]) -> T: ...


class SegmentView(NamedTuple):
    """A segment of a log at one moment."""

    base_offset: int
    size_bytes: int
    largest_timestamp: int
    """The largest timestamp, or -1 if no record has a timestamp."""


class LogOffsets(NamedTuple):
    """The four offsets of a log at one moment."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    log_end_offset: int


class LogView:
    """A live view of the log of one partition. Each access to an attribute reads it from the current leader.

    Attributes raise KafkaError if the partition has been deleted or has no leader, and RuntimeError if the broker is
    not running.
    """

    def __init__(self, topic: str, partition: int, leaders_log: Callable[[], Log], call: Call) -> None:
        self.topic = topic
        self.partition = partition
        self._leaders_log = leaders_log
        self._call = call

    def __repr__(self) -> str:
        try:
            offsets = self.offsets
        except (KafkaError, RuntimeError) as error:
            return f"<{self.topic}-{self.partition}: {error}>"
        return (
            f"<{self.topic}-{self.partition}: log start offset {offsets.log_start_offset}, "
            f"last stable offset {offsets.last_stable_offset}, high watermark {offsets.high_watermark}, "
            f"log end offset {offsets.log_end_offset}>"
        )

    @property
    def offsets(self) -> LogOffsets:
        """All four offsets at one moment."""
        return self._look(
            lambda log: LogOffsets(log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset)
        )

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self._look(lambda log: log.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The first offset that read_committed consumers cannot read."""
        return self._look(lambda log: log.last_stable_offset)

    @property
    def high_watermark(self) -> int:
        """The first offset that consumers cannot read."""
        return self._look(lambda log: log.high_watermark)

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._look(lambda log: log.log_end_offset)

    @property
    def segments(self) -> list[SegmentView]:
        """The segments, from oldest to newest."""
        return self._look(
            lambda log: [
                SegmentView(segment.base_offset, segment.size_bytes, segment.largest.timestamp)
                for segment in log.segments
            ]
        )

    @property
    def batches(self) -> list[Batch]:
        """Every batch on disk, including those below the log start offset. All segments are read."""
        return self._look(lambda log: [batch for segment in log.segments for _, batch in segment.entries()])

    @property
    def _log(self) -> Log:
        return self._look(lambda log: log)

    def _look(self, see: Callable[[Log], T]) -> T:
        return self._call(lambda: see(self._leaders_log()))


class TransactionView(NamedTuple):
    """The state of a transactional id at the time of the call. Times are milliseconds since 1970."""

    transactional_id: str
    state: str
    """The state as named by Kafka: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort."""
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: list[tuple[str, int]]
    """The partitions in the open transaction or, while it is being completed, the partitions without a marker."""
    started_ms: int
    """The start time of the last transaction, or -1 if there was none."""
    coordinator: int
    """The id of the broker that coordinates the transactional id."""
