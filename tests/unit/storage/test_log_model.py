"""A state machine test of a log against a simple model.

The model keeps the entries as lists of (offset, timestamp). It has no segments, files or indexes, except for the base
offsets of segments, which it takes from the log and only checks for plausibility. After every step, the log must return
what the model has, to readers of each isolation level, from each offset; and after every stop, clean or not, the
records must still be there.
"""

import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.log import Log
from kafkalet.storage.lookup import EARLIEST, MAX_TIMESTAMP
from kafkalet.storage.values import Isolation
from tests.profile import examples

from .place import CONFIG, Place, content, find, four
from .producing import T0, logged

Entry = list[tuple[int, int]]
"""The records of one batch: offsets, and timestamps in milliseconds after T0."""

times = st.lists(st.integers(0, 3000), min_size=1, max_size=4)
sizes = st.sampled_from([100, 200, 400, 10**6])
fraction = st.floats(0, 1)


class LogModel(RuleBasedStateMachine):
    @initialize(
        segment_bytes=sizes,
        index_interval_bytes=st.sampled_from([0, 150, 4096]),
        segment_ms=st.sampled_from([500, 10**9]),
        segment_index_bytes=st.sampled_from([40, 10**6]),
        lifts=st.booleans(),
    )
    def begin(
        self, segment_bytes: int, index_interval_bytes: int, segment_ms: int, segment_index_bytes: int, lifts: bool
    ) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="kafkalet-model-"))
        config = CONFIG._replace(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            segment_ms=segment_ms,
            segment_index_bytes=segment_index_bytes,
            retention_ms=-1,
            lifts_unstable_to_log_start=lifts,
        )
        self.without_sync = mock.patch("os.fsync")  # a killed process keeps everything it has written
        self.without_sync.start()
        self.place = Place(self.root / "data", config, durable=True)
        self.entries: list[Entry] = []
        self.start = self.high_watermark = self.end = 0
        self.checkpointed = (0, 0)
        self.sequence = 0
        self.open_since: int | None = None
        self.marker_at: int | None = None
        self.last_marker = -1

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.directory.close(discard=True)
            self.without_sync.stop()
            shutil.rmtree(self.root)

    @property
    def log(self) -> Log:
        return self.place.log

    # Rules: operations on a log

    def _append(self, times: list[int], **fields: object) -> None:
        first = self.end
        appended = self.place.append(*times, visible=False, **fields)
        assert (appended.first_offset, appended.last_offset) == (first, first + len(times) - 1)
        self._added([(first + at, ms) for at, ms in enumerate(times)])

    def _added(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.end = entry[-1][0] + 1

    @rule(times=times)
    def append(self, times: list[int]) -> None:
        self._append(times)

    @rule(times=times)
    def append_idempotently(self, times: list[int]) -> None:
        self._append(times, producer_id=7, producer_epoch=0, base_sequence=self.sequence)
        self.sequence += len(times)
        again = self.place.append(
            *times, visible=False, producer_id=7, producer_epoch=0, base_sequence=self.sequence - len(times)
        )
        assert again.duplicate
        assert again.last_offset == self.end - 1

    @precondition(lambda self: self.marker_at is None)
    @rule(times=times)
    def append_to_a_transaction(self, times: list[int]) -> None:
        entry = self.log.producers.entry(8)
        sequence = 0 if entry is None else entry.last_sequence + 1
        if self.open_since is None:
            self.open_since = self.end
        self._append(times, producer_id=8, producer_epoch=0, base_sequence=sequence, transactional=True)

    @precondition(lambda self: self.open_since is not None and self.marker_at is None)
    @rule(commit=st.booleans())
    def end_transaction(self, commit: bool) -> None:
        self.marker_at = self.last_marker = self.end
        self.place.end_transaction(8, commit=commit, visible=False)
        self._added([(self.end, 0)])
        self._decide()

    def _decide(self) -> None:
        if self.marker_at is not None and self.marker_at < self.high_watermark:
            self.open_since = self.marker_at = None

    @rule(times=times, gap=st.integers(0, 5))
    def append_as_follower(self, times: list[int], gap: int) -> None:
        batch = logged(self.end + gap, len(times), ts=T0 + max(times))
        self.place.replicate(batch)
        self._added([(self.end + gap + at, max(times)) for at in range(len(times))])

    @rule(part=fraction)
    def raise_high_watermark(self, part: float) -> None:
        # Not to the end of the last entry if a gap follows, because, as in Kafka, that position is also the log end.
        ends = sorted({entry[-1][0] + 1 for entry in self.entries[:-1]} | {self.end})
        to = ends[int(part * (len(ends) - 1))]
        assert self.log.maybe_increment_high_watermark(to) or to <= self.high_watermark
        self.high_watermark = max(self.high_watermark, to)
        self._decide()

    @rule(part=fraction)
    def delete_records(self, part: float) -> None:
        to = self.start + int(part * (self.high_watermark - self.start))
        assert self.log.maybe_increment_log_start_offset(to) == (to > self.start)
        self.start = max(self.start, to)

    @rule()
    def apply_retention(self) -> None:
        before = self.log.segments.base_offsets
        deleted = self.log.apply_retention()
        left = self.log.segments.base_offsets
        assert left == before[deleted:]
        assert left[0] <= self.start
        assert len(left) == 1 or left[1] > self.start

    @rule(retention_bytes=st.integers(0, 600))
    def apply_retention_by_size(self, retention_bytes: int) -> None:
        self.log.reconfigure(self.place.config._replace(retention_bytes=retention_bytes))
        self.log.apply_retention()
        self.log.reconfigure(self.place.config)
        assert self.log.log_start_offset <= self.high_watermark
        self.start = max(self.start, self.log.segments.first.base_offset)

    @rule()
    def roll(self) -> None:
        self.log.roll()
        assert self.log.segments.active.base_offset == self.end

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @precondition(lambda self: self.open_since is None)
    @rule(part=fraction)
    def truncate(self, part: float) -> None:
        """Truncate to the end of an entry at or above the high watermark, as replication does."""
        ends = [entry[-1][0] + 1 for entry in self.entries if entry[-1][0] + 1 >= self.high_watermark] or [self.end]
        to = ends[int(part * (len(ends) - 1))]
        if self.last_marker >= self.high_watermark:
            return  # After a crash, the log may contain a marker above the high watermark, which would be replayed.
        dropped = self.log.truncate_to(to)
        assert dropped == (to < self.end)
        self.end = min(self.end, to)
        self.entries = [entry for entry in self.entries if entry[-1][0] < to]
        self.start = min(self.start, self.end)
        if dropped:
            self._checkpointed()
        known = self.log.producers.entry(7)
        self.sequence = 0 if known is None else known.last_sequence + 1

    @rule(at=st.integers(0, 50))
    def truncate_fully(self, at: int) -> None:
        self.log.truncate_fully_and_start_at(at)
        self.entries = []
        self.start = self.high_watermark = self.end = at
        self.open_since = self.marker_at = None
        self.sequence, self.last_marker = 0, -1
        self._checkpointed()

    @rule(ms=st.integers(0, 100_000))
    def let_time_pass(self, ms: int) -> None:
        self.place.clock.advance(milliseconds=ms)

    @rule()
    def write_checkpoints(self) -> None:
        self.place.directory.checkpoint()
        self._checkpointed()

    def _checkpointed(self) -> None:
        """Return the log start offset in the checkpoint, which omits one at the beginning of a segment."""
        start = self.start if self.start > self.log.segments.first.base_offset else 0
        self.checkpointed = (start, self.high_watermark)

    @rule()
    def stop_and_start(self) -> None:
        self._checkpointed()
        self.place.reopen()
        self._opened_again(*self.checkpointed)

    @rule()
    def crash_and_start(self) -> None:
        """Records survive a crash; the other offsets have the values of the last checkpoint."""
        self.place.crash()
        self._opened_again(*self.checkpointed)

    def _opened_again(self, start: int, high_watermark: int) -> None:
        """The log end comes from the last entry, or from the name of an empty segment; a gap at the end is lost.

        So are transactions with a marker above the high watermark: they count as completed.
        """
        bases = self.log.segments.base_offsets
        last = self.entries[-1][-1][0] + 1 if self.entries else 0
        self.end = max(last, bases[-1])
        if self.end < start:
            self.entries, self.end = [], start
        if not self.entries or last <= bases[-1]:
            assert self.log.segments.active.size_bytes == 0
        self.start = max(start, bases[0])
        self.high_watermark = min(max(high_watermark, self.start), self.end)
        known = self.log.producers.entry(7)
        self.sequence = 0 if known is None else known.last_sequence + 1
        if self.marker_at is not None or not self.entries:
            self.open_since = self.marker_at = None

    # Invariants

    @invariant()
    def offsets_are_those_of_the_model(self) -> None:
        if not hasattr(self, "place"):
            return
        start, stable, high_watermark, end = four(self.log)
        assert (start, high_watermark, end) == (self.start, self.high_watermark, self.end)
        assert 0 <= start <= high_watermark <= end
        assert stable <= high_watermark
        if self.open_since is None or self.open_since >= high_watermark:
            assert stable == high_watermark
        elif start <= self.open_since:
            assert stable == self.open_since
        assert self.log.recovery_point <= end
        bases = self.log.segments.base_offsets
        assert bases == sorted(set(bases))
        assert bases[0] <= start
        assert self.log.log_end_metadata()[1:] == (bases[-1], self.log.segments.active.size_bytes)

    @invariant()
    def every_reader_sees_what_it_may(self) -> None:
        if not hasattr(self, "place"):
            return
        for isolation in Isolation:
            bound = isolation.bound(self.log)
            expected = [
                entry for entry in self.entries if entry[-1][0] >= self.start and max(entry[0][0], self.start) < bound
            ]
            found: list[Entry] = []
            offset = self.start
            while offset < bound:
                result = self.place.read(offset, isolation)
                read = list(batches(content(result)))
                if not read:
                    break
                found += [[(record.offset, record.timestamp - T0) for record in batch.records()] for batch in read]
                offset = read[-1].next_offset
            assert [[offset for offset, _ in entry] for entry in found] == [
                [offset for offset, _ in entry] for entry in expected
            ]

    @invariant()
    def outside_there_is_nothing(self) -> None:
        if not hasattr(self, "place"):
            return
        for offset in (self.start - 1, self.end + 1):
            with pytest.raises(KafkaError) as refused:
                self.place.read(offset)
            assert refused.value.code is Code.OFFSET_OUT_OF_RANGE

    @invariant()
    def times_are_found(self) -> None:
        if not hasattr(self, "place"):
            return
        assert find(self.log, EARLIEST)[1] == self.start
        on_disk = [
            [(record.timestamp, record.offset) for _, batch in segment.entries() for record in batch.records()]
            for segment in self.log.segments
        ]
        records = [record for segment in on_disk for record in segment]
        found = find(self.log, MAX_TIMESTAMP)
        if not records:
            assert found is None
            return
        reached = [
            max(found)[0] if found else segment.modified_ms
            for segment, found in zip(self.log.segments, on_disk, strict=True)
        ]
        largest = max(timestamp for timestamp, _ in records)
        assert found[:2] == next(record for record in records if record[0] == largest)
        for wanted in (T0, T0 + 700, T0 + 2999):
            reaching = next((s for s, largest in zip(on_disk, reached, strict=True) if largest >= wanted), [])
            assert (find(self.log, wanted) or (None, None))[:2] == next(
                ((ts, offset) for ts, offset in reaching if ts >= wanted and offset >= self.start), (None, None)
            )


LogModel.TestCase.settings = settings(
    max_examples=examples(0.4), stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
TestLogModel = LogModel.TestCase
