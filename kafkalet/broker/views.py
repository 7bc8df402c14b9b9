"""What a user sees of a log: its offsets, segments and batches, from whatever thread he asks."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

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
