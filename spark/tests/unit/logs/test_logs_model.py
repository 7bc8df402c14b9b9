"""Model test: for any history of a log, the readers of its files return the same as the log's own code.

Histories consist of records, transactions, old formats, deletions and rolls, with any segment and index sizes. The
files are read while the broker runs with unwritten indexes, after the indexes were written, and after a shutdown.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage import lookup
from kafkalet.tasks.task import finish
from kafkalet_spark.decoding.chunks import read_chunks
from kafkalet_spark.decoding.records import decode
from kafkalet_spark.logs.directory import PartitionLog
from kafkalet_spark.logs.ends import log_end
from kafkalet_spark.logs.planning import plan
from kafkalet_spark.logs.splits import Split, split
from kafkalet_spark.logs.timestamps import MAX_TIMESTAMP, TimestampSearch
from kafkalet_spark.logs.transactions import (
    aborted_transactions,
    last_stable_offset,
    open_transactions,
    verify_transactions,
)
from tests.profile import examples

from .made import CONFIG, T0, Made

times = st.lists(st.integers(-1, 60), min_size=1, max_size=4)
producers = st.sampled_from([11, 12, 13])
fraction = st.floats(0, 1)
codecs = st.sampled_from([Codec.NONE, Codec.GZIP])


class LogsModel(RuleBasedStateMachine):
    @initialize(
        segment_bytes=st.sampled_from([150, 500, 10**6]),
        index_interval_bytes=st.sampled_from([0, 200, 4096]),
        lifts=st.booleans(),
    )
    def begin(self, segment_bytes: int, index_interval_bytes: int, lifts: bool) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="kafkalet-logs-"))
        self.without_sync = mock.patch("os.fsync")
        self.without_sync.start()
        self.lifts = lifts
        self.made = Made(
            self.root / "data",
            CONFIG._replace(
                segment_bytes=segment_bytes,
                index_interval_bytes=index_interval_bytes,
                lifts_unstable_to_log_start=lifts,
                retention_ms=-1,
            ),
        )
        self.is_open = True

    def teardown(self) -> None:
        if hasattr(self, "made"):
            if self.is_open:
                self.look_while_it_runs()
                self.made.directory.close(discard=True)
            self.without_sync.stop()
            shutil.rmtree(self.root)

    # Events

    @rule(ms=times, codec=codecs)
    def append(self, ms: list[int], codec: Codec) -> None:
        self.made.append(*ms, codec=codec)

    @rule(ms=st.integers(0, 60))
    def append_with_the_time_of_the_append(self, ms: int) -> None:
        self.made.append_time(ms, ms)

    @rule(ms=times, magic=st.integers(0, 1), codec=codecs)
    def append_an_old_format(self, ms: list[int], magic: int, codec: Codec) -> None:
        self.made.append_old(magic, *ms, codec=codec)

    @rule(producer_id=producers, ms=times)
    def append_to_a_transaction(self, producer_id: int, ms: list[int]) -> None:
        self.made.transactional(producer_id, *ms)

    @rule(producer_id=producers, commit=st.booleans(), ms=st.integers(0, 60))
    def end_transaction(self, producer_id: int, commit: bool, ms: int) -> None:
        """End a transaction, which may have no records."""
        self.made.end(producer_id, commit=commit, ms=ms)

    @rule(part=fraction, files=st.booleans())
    def delete_records(self, part: float, files: bool) -> None:
        log = self.made.log
        start = log.log_start_offset
        self.made.delete_until(start + round(part * (log.high_watermark - start)), files=files)

    @rule()
    def roll(self) -> None:
        self.made.log.roll()

    @rule()
    def write_indexes(self) -> None:
        self.made.flush()

    def nothing_open_is_deleted(self) -> bool:
        """Return whether no open transaction began below the log start offset, where no records can be read."""
        return all(first >= self.made.log.log_start_offset for first in self.first_open())

    def first_open(self) -> list[int]:
        """Return the offset at which the oldest open transaction began; nothing if there is none."""
        return sorted(entry.open_since for entry in self.made.log.producers.active() if entry.open_since is not None)[
            :1
        ]

    @precondition(lambda self: hasattr(self, "made") and self.nothing_open_is_deleted())
    @rule()
    def stop_and_start(self) -> None:
        self.made.seen()
        self.made.close()
        self.is_open = False
        self.look(self.made.seen_closed())
        self.made.open()
        self.is_open = True

    # Invariants

    @precondition(lambda self: hasattr(self, "made"))
    @rule()
    def look_while_it_runs(self) -> None:
        self.look(self.made.seen())

    def look(self, seen: PartitionLog) -> None:
        log = self.made.log
        end = log.log_end_offset
        assert seen.log_start_offset == log.log_start_offset
        assert [segment.base_offset for segment in seen.segments] == log.segments.base_offsets
        assert log_end(seen)[:1] + log_end(seen)[3:] == (end, None)
        if self.nothing_open_is_deleted():
            assert last_stable_offset(seen) == log.last_stable_offset
            assert open_transactions(seen).first_offset.tolist()[:1] == self.first_open()
        verify_transactions(seen)
        self.look_at_times(seen)
        self.look_at_splits(seen, end)

    def look_at_times(self, seen: PartitionLog) -> None:
        search = TimestampSearch(seen)
        for asked in (*range(T0, T0 + 62), MAX_TIMESTAMP):
            found = finish(lookup.find(self.made.log, asked))
            assert search.offset_for(asked) == (found and (found.offset, found.timestamp)), asked

    def look_at_splits(self, seen: PartitionLog, end: int) -> None:
        start = seen.log_start_offset
        everything = read(split(seen, start, end, max_bytes=1 << 30))
        assert everything == self.made.records()
        for first, behind in ((start, end), (start + 1, end - 1), (start + 3, start + 4)):
            wanted = [record for record in everything if first <= record[0] < behind]
            for max_bytes in (1, 300):
                assert read(split(seen, first, behind, max_bytes=max_bytes)) == wanted
            planned = plan([(seen, first, behind)], max_bytes=400, max_records=3, min_splits=5)
            assert read(planned) == wanted
            assert all(each.end_offset - each.start_offset <= 3 for each in planned)
            for ms in (0, 20, 40, 61):
                late = read(split(seen, first, behind, max_bytes=300, not_before_ms=T0 + ms))
                assert [each for each in late if each[1] >= T0 + ms] == [each for each in wanted if each[1] >= T0 + ms]
            rows = zip(*(column.tolist() for column in aborted_transactions(seen, first, behind)), strict=True)
            assert list(rows) == [each[:3] for each in self.made.aborted(first, behind)]


def read(splits: list[Split]) -> list[tuple[int, int]]:
    """Return offset and timestamp of every record in the splits, in order."""
    found = []
    for each in splits:
        assert pickle.loads(pickle.dumps(each)) == each
        assert sum(piece.size_bytes for piece in each.pieces) == each.size_bytes
        for piece in each.pieces:
            for chunk in read_chunks(piece.path, piece.start, piece.end):
                assert not chunk.problems
                rows = decode(chunk.buffer, chunk.batches, ())
                pairs = zip(rows.offset.tolist(), rows.timestamp.tolist(), strict=True)
                found += [pair for pair in pairs if each.start_offset <= pair[0] < each.end_offset]
    return found


TestLogsModel = LogsModel.TestCase
TestLogsModel.pytestmark = [pytest.mark.slow]
TestLogsModel.settings = settings(max_examples=examples(0.25), stateful_step_count=20)
