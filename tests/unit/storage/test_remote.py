"""Remote segments: which of them belong to a log, and that reads do not depend on the tier."""

import itertools
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.epochs import EpochEntry
from kafkalet.storage.log import Log
from kafkalet.storage.lookup import EARLIEST, find
from kafkalet.storage.remote import RemoteSegment, RemoteStore, State, Tier, TieredLog, with_records
from kafkalet.storage.values import Isolation
from kafkalet.tasks.task import finish
from tests.unit.storage.producing import T0

ID = bytes(range(16))
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=0, retention_ms=-1, remote_storage_enable=True)


class Epochs(NamedTuple):
    entries: tuple[EpochEntry, ...]


class Lineage(NamedTuple):
    """A log with leader epochs."""

    epochs: Epochs
    log_end_offset: int


LOG = Lineage(Epochs((EpochEntry(1, 10), EpochEntry(3, 20), EpochEntry(4, 30), EpochEntry(5, 30))), 40)


@pytest.mark.parametrize(
    ("epochs", "end", "belongs"),
    [
        ({1: 10}, 19, True),
        ({1: 5}, 19, True),  # the log start offset has been raised
        ({1: 12, 3: 20}, 25, True),
        ({0: 0, 1: 10, 3: 20}, 25, True),  # epoch 0 was before the log start offset
        ({0: 0}, 9, False),
        ({1: 10}, 20, False),  # another leader continued at 20
        ({1: 10, 2: 18}, 25, False),
        ({1: 10, 3: 19}, 25, False),
        ({3: 15}, 25, False),
        ({3: 22, 5: 30}, 39, True),
        ({3: 22, 5: 30}, 40, False),  # past the log end
        ({5: 33, 6: 35}, 39, False),
    ],
)
def test_segment_belongs_to_the_log_that_has_its_epochs(epochs: dict[int, int], end: int, belongs: bool) -> None:
    segment = RemoteSegment(ID, min(epochs.values()), end, 0, 100, epochs, State.COPY_SEGMENT_FINISHED)
    assert segment.is_in_lineage_of(cast("TieredLog", LOG)) is belongs


def test_epochs_without_records_do_not_count() -> None:
    assert with_records([(0, 0), (1, 10), (5, 60), (6, 60), (7, 70)]) == {0: 0, 1: 10, 6: 60, 7: 70}


class Tiers:
    """A log, and what is known about its remote segments."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock(T0)
        self.store = RemoteStore(str(path / "remote"), self.clock, durable=False)
        self.known: dict[bytes, RemoteSegment] = {}
        self.directory = LogDirectory(str(path / "data"), self.clock, durable=False, tier_of=self.tier_of)
        self.log: Log = self.directory.get_or_create("t", 0, ID, CONFIG)

    def tier_of(self, log: TieredLog) -> Tier:
        return Tier(log, self.store, lambda: self.known)

    def copy(self, count: int) -> None:
        """Copy the first segments that have records, and delete them from the local disk."""
        segments = list(self.log.segments)
        for number, (segment, following) in enumerate(itertools.pairwise(segments[: count + 1])):
            if following.base_offset <= self.log.log_start_offset:
                continue
            key = bytes([number]) * 16
            epochs = {each.epoch: max(each.start_offset, segment.base_offset) for each in self.log.epochs.entries}
            epochs = {epoch: start for epoch, start in epochs.items() if start < following.base_offset}
            end, newest = following.base_offset - 1, segment.largest_timestamp
            remote = RemoteSegment(key, segment.base_offset, end, newest, segment.size_bytes, epochs)
            self.store.copy(self.log, segment, remote)
            self.known = {**self.known, key: remote._replace(state=State.COPY_SEGMENT_FINISHED)}
        self.log.reconfigure(CONFIG._replace(local_retention_bytes=0))
        self.log.apply_retention()

    def answers(self) -> list[object]:
        """Read everything in every way."""
        found: list[object] = []
        for isolation in Isolation:
            for offset in range(self.log.log_end_offset + 2):
                for size, at_least_one in ((0, False), (1, True), (150, True), (150, False), (1 << 20, True)):
                    try:
                        read = self.log.read(offset, size, isolation, at_least_one)
                    except KafkaError as error:
                        found.append(error.code)
                        continue
                    records = read.records if isinstance(read.records, bytes) else read.records.read()
                    found.append((records, read.first_entry_incomplete, read.aborted))
        found += [finish(find(self.log, T0 + time)) for time in range(-1, 45)]
        return [*found, finish(find(self.log, EARLIEST)), self.log.end_offset_for_epoch(1)]


@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=4), min_size=2, max_size=14), st.data())
@settings(max_examples=40, deadline=None)
def test_reads_do_not_depend_on_the_tier(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], data: st.DataObject
) -> None:
    tiers = Tiers(tmp_path_factory.mktemp("tiers"))
    for number, times in enumerate(batches):
        rows = [Record(at, T0 + time, None, b"value") for at, time in enumerate(times)]
        tiers.log.append_as_leader(bytearray(build_batch(rows)), leader_epoch=number // 4)
    tiers.log.maybe_increment_high_watermark(tiers.log.log_end_metadata())
    # A lookup by time that finds only deleted records in a segment continues in the local log only if that segment is
    # remote, so the log starts with a segment.
    start = data.draw(st.sampled_from(tiers.log.segments.base_offsets))
    tiers.log.maybe_increment_log_start_offset(start)
    tiers.log.apply_retention()
    before = tiers.answers()
    tiers.copy(data.draw(st.integers(0, len(tiers.log.segments))))
    assert tiers.answers() == before
    tiers.directory.close()
