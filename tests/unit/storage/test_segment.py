"""Tests of one segment: appends and their index entries, when to roll, reads, truncation, files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.config import LogConfig
from kafkalet.storage.files import Files
from kafkalet.storage.index import IndexPool
from kafkalet.storage.segment import Segment, file_name
from kafkalet.storage.values import ReadResult

from .place import content, index_entries, time_entries
from .producing import T0, logged, message_set, record

BASE = 100


class Bench:
    """A segment at offset 100, to which batches of three records are appended."""

    def __init__(self, directory: Path, config: LogConfig) -> None:
        self.directory, self.config = directory, config
        self.files, self.clock = Files(durable=False), ManualClock(T0)
        self.segment = self.open(new=True)
        self.sizes: list[int] = []

    def open(self, *, new: bool) -> Segment:
        return Segment(str(self.directory), BASE, self.config, self.files, IndexPool(), self.clock, new=new)

    def append(self, offset: int, *, ms: int | None = None, count: int = 3, value: str = "v" * 100) -> None:
        """Return a batch with offsets starting at `offset`; its records are `ms` after T0 (default: the offset)."""
        batch = logged(offset, count, ts=T0 + (offset if ms is None else ms))
        self.sizes.append(batch.size)
        self.segment.append(batch.view(), batch.last_offset, batch.max_timestamp, batch.last_offset)

    def fill(self, *offsets: int) -> None:
        for offset in offsets:
            self.append(offset)

    def read(self, offset: int, max_bytes: int = 1 << 20, at_least_one: bool = False) -> ReadResult | None:
        return self.segment.read(offset, max_bytes, self.segment.size_bytes, at_least_one)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, LogConfig(index_interval_bytes=0))
    yield made
    made.files.close()


def sized(directory: Path, **config: int) -> Bench:
    return Bench(directory, LogConfig(**config))


# Index entries


def test_index_entry_is_added_after_index_interval_bytes(tmp_path: Path) -> None:
    size = logged(100, 3).size
    bench = sized(tmp_path, index_interval_bytes=2 * size)
    bench.fill(*range(100, 130, 3))
    bench.segment.close()
    assert index_entries(tmp_path / "00000000000000000100.index") == [(11, 3 * size), (20, 6 * size), (29, 9 * size)]


def test_index_entry_has_the_last_offset_and_the_position_of_the_append(bench: Bench) -> None:
    bench.fill(100, 103)
    bench.segment.write()
    assert index_entries(bench.directory / "00000000000000000100.index") == [(5, bench.sizes[0])]


def test_first_append_gets_no_index_entry(bench: Bench) -> None:
    bench.fill(100)
    assert len(bench.segment.offset_index) == len(bench.segment.time_index) == 0


def test_time_index_has_an_entry_if_the_largest_timestamp_increased(bench: Bench) -> None:
    bench.append(100, ms=50)
    bench.append(103, ms=10)
    bench.append(106, ms=50)
    bench.append(109, ms=51)
    bench.segment.write()
    assert time_entries(bench.directory / "00000000000000000100.timeindex") == [(T0 + 50, 2), (T0 + 51, 11)]


def test_end_appends_adds_the_largest_timestamp(bench: Bench) -> None:
    bench.append(100, ms=50)
    bench.segment.end_appends()
    assert time_entries(bench.directory / "00000000000000000100.timeindex") == [(T0 + 50, 2)]
    assert index_entries(bench.directory / "00000000000000000100.index") == []


def test_rebuilt_time_index_has_the_largest_timestamp(tmp_path: Path) -> None:
    bench = sized(tmp_path, index_interval_bytes=10**6)
    bench.append(100, ms=50)
    bench.segment.close()
    path = tmp_path / "00000000000000000100.timeindex"
    path.unlink()
    assert bench.open(new=False).largest == (T0 + 50, 102, -1)
    assert time_entries(path) == [(T0 + 50, 2)]


def test_largest_timestamp_has_the_offset_of_its_first_entry(bench: Bench) -> None:
    assert bench.segment.largest == (-1, BASE, -1)
    bench.append(100, ms=5)
    bench.append(103, ms=9)
    bench.append(106, ms=9)
    bench.append(109, ms=1)
    assert bench.segment.largest == (T0 + 9, 105, -1)


def test_without_timestamps_the_largest_is_the_last_modification(bench: Bench) -> None:
    bench.clock.advance(milliseconds=70)
    data = message_set(0, record())
    bench.segment.append(data, 100, -1, 100)
    assert bench.segment.largest_timestamp == T0 + 70


# Modification


def test_creation_and_appends_set_the_modification_time(bench: Bench) -> None:
    assert bench.segment.modified_ms == T0
    bench.clock.advance(milliseconds=5)
    bench.fill(100)
    bench.clock.advance(milliseconds=5)
    bench.read(100)
    assert bench.segment.modified_ms == T0 + 5


def test_modification_time_survives_reopening(bench: Bench) -> None:
    bench.clock.advance(milliseconds=1234)
    bench.fill(100)
    bench.segment.close()
    bench.clock.advance(milliseconds=10**9)
    assert bench.open(new=False).modified_ms == T0 + 1234


# When to roll


def should_roll(bench: Bench, size: int = 100, ms: int = 0, last_offset: int = BASE + 50) -> bool:
    return bench.segment.should_roll(bench.config, size, T0 + ms, last_offset)


def test_segment_rolls_if_the_append_does_not_fit(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_bytes=1000)
    bench.fill(100)
    left = 1000 - bench.sizes[0]
    assert not should_roll(bench, left, 100)
    assert should_roll(bench, left + 1, 100)


def test_segment_rolls_after_segment_ms_by_record_timestamps(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.append(100, ms=5)
    bench.append(103, ms=800)
    bench.clock.advance(milliseconds=10**9)
    assert not should_roll(bench, ms=1005)
    assert should_roll(bench, ms=1006)


def test_an_empty_segment_never_rolls_for_its_age(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.clock.advance(milliseconds=10**9)
    assert not should_roll(bench, ms=10**9)


def test_earlier_timestamps_do_not_roll_the_segment(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.append(100, ms=10**7)
    assert not should_roll(bench, ms=-(10**9))


def test_age_without_first_timestamp_counts_from_creation(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.segment.append(message_set(0, record()), 100, -1, 100)
    bench.clock.advance(milliseconds=1000)
    assert not bench.segment.should_roll(bench.config, 1, -1, 101)
    bench.clock.advance(milliseconds=1)
    assert bench.segment.should_roll(bench.config, 1, -1, 101)


def test_first_timestamp_is_read_after_reopening(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.append(100, ms=5)
    bench.append(103, ms=800)
    bench.segment.close()
    bench.segment = bench.open(new=False)
    assert not should_roll(bench, ms=1005)
    assert should_roll(bench, ms=1006)


def test_jitter_reduces_segment_ms(tmp_path: Path) -> None:
    seen = set()
    for number in range(60):
        directory = tmp_path / str(number)
        directory.mkdir()
        bench = sized(directory, segment_ms=1000, segment_jitter_ms=10)
        bench.append(100, ms=0)
        seen.add(next(ms for ms in range(985, 1003) if should_roll(bench, ms=ms)))
    assert len(seen) > 2
    assert seen <= set(range(992, 1002))


def test_segment_rolls_if_an_index_is_full(tmp_path: Path) -> None:
    bench = sized(tmp_path, index_interval_bytes=0, segment_index_bytes=40)  # 5 offsets, 3 times
    bench.fill(100, 103)
    assert not should_roll(bench)
    bench.fill(106)
    assert should_roll(bench)


def test_segment_rolls_for_an_offset_too_far_from_the_base(bench: Bench) -> None:
    assert not should_roll(bench, last_offset=BASE + 2**31 - 1)
    assert should_roll(bench, last_offset=BASE + 2**31)
    with pytest.raises(ValueError, match="does not fit"):
        bench.append(BASE + 2**31, ms=0)
    assert bench.segment.size_bytes == 0


# Reads


def test_read_begins_with_the_entry_that_contains_the_offset(bench: Bench) -> None:
    bench.fill(100, 103, 106)
    size = bench.sizes[0]
    for offset, position in ((100, 0), (102, 0), (103, size), (104, size), (107, 2 * size)):
        found = bench.read(offset)
        assert found is not None
        assert found.position == (offset, BASE, position)
        assert len(found.records) == 3 * size - position
        assert len(content(found)) == len(found.records)


def test_read_in_a_gap_begins_with_the_next_entry(bench: Bench) -> None:
    bench.fill(100, 110)
    found = bench.read(105)
    assert found is not None
    assert found.position == (105, BASE, bench.sizes[0])


def test_read_past_the_last_entry_returns_none(bench: Bench) -> None:
    assert bench.read(100) is None
    bench.fill(100)
    assert bench.read(103) is None


def test_read_ends_at_max_bytes(bench: Bench) -> None:
    bench.fill(100, 103)
    size = bench.sizes[0]
    for limit in (size, size + 1, 2 * size - 1, 2 * size, 10 * size):
        found = bench.read(100, limit)
        assert found is not None
        assert len(found.records) == min(limit, 2 * size)
        assert not found.first_entry_incomplete


def test_incomplete_first_entry_is_reported(bench: Bench) -> None:
    bench.fill(100, 103)
    found = bench.read(100, bench.sizes[0] - 1)
    assert found is not None
    assert (len(found.records), found.first_entry_incomplete) == (bench.sizes[0] - 1, True)


def test_at_least_one_returns_a_complete_first_entry(bench: Bench) -> None:
    bench.fill(100, 103)
    for limit in (0, 1, bench.sizes[0] - 1):
        found = bench.read(100, limit, at_least_one=True)
        assert found is not None
        assert (len(found.records), found.first_entry_incomplete) == (bench.sizes[0], False)


def test_max_bytes_of_zero_returns_only_the_position(bench: Bench) -> None:
    bench.fill(100, 103)
    found = bench.read(103, 0)
    assert found == ReadResult((103, BASE, bench.sizes[0]), b"")  # type: ignore[arg-type]


def test_negative_max_bytes_is_refused(bench: Bench) -> None:
    bench.fill(100)
    with pytest.raises(KafkaError) as refused:
        bench.read(100, -1)
    assert refused.value.code is Code.UNKNOWN_SERVER_ERROR


def test_max_position_limits_a_read_even_with_at_least_one(bench: Bench) -> None:
    bench.fill(100, 103)
    found = bench.segment.read(100, 1 << 20, bench.sizes[0], True)
    assert found is not None
    assert len(found.records) == bench.sizes[0]
    unreadable = bench.segment.read(100, 1 << 20, None, True)
    assert unreadable == ReadResult((100, BASE, 0), b"")  # type: ignore[arg-type]


@given(
    gaps=st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=1, max_size=8),
    reads=st.lists(
        st.tuples(
            st.sampled_from(["on", "on", "on", "seek", "cut", "append"]),
            st.sampled_from([0, 1, 26, 200, 400, 800, 1 << 20]),
            st.booleans(),
            st.integers(-30, 1000),
        ),
        max_size=20,
    ),
)
def test_continued_reads_equal_reads_that_search(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int], reads: list[tuple[str, int, bool, int]]
) -> None:
    """Readers continue without a search where an earlier read ended; a new `Segment` always searches."""
    bench = Bench(tmp_path_factory.mktemp("segment"), LogConfig(index_interval_bytes=100))
    end = BASE
    for gap in gaps:
        bench.append(end + gap)
        end += gap + 3
    offset = BASE
    for action, max_bytes, at_least_one, where in reads:
        if action == "seek":
            offset = BASE + abs(where) % (end - BASE)
        elif action == "cut":
            end = BASE + abs(where) % (end - BASE)
            bench.segment.truncate_to(end)
        elif action == "append":
            bench.append(end)
            end += 3
        bench.segment.write()
        readable = max(0, bench.segment.size_bytes - max(where, 0) % 150)
        pieces = []
        for segment in (bench.segment, bench.open(new=False)):
            read = segment.read(offset, max_bytes, readable, at_least_one)
            data = b"" if read is None else content(read)
            pieces.append((read and read._replace(records=b""), data))
        assert pieces[0] == pieces[1]
        found = bench.segment.locate(offset)
        offset = end if found is None else found.last_offset + 1
        end = max(end, BASE + 1)
    bench.files.close()


def test_next_offset_is_found_after_the_last_index_entry(bench: Bench) -> None:
    assert bench.segment.next_offset() == BASE
    bench.fill(100)
    assert bench.segment.next_offset() == 103
    bench.fill(103, 120)
    assert bench.segment.next_offset() == 123


# Truncation


def test_truncation_removes_whole_entries(bench: Bench) -> None:
    bench.fill(100, 103, 106)
    assert bench.segment.truncate_to(104) == 2 * bench.sizes[0]
    assert bench.segment.size_bytes == bench.sizes[0]
    assert bench.segment.next_offset() == 103
    assert len(bench.segment.offset_index) == 0


def test_truncation_past_the_end_changes_nothing(bench: Bench) -> None:
    bench.fill(100, 103)
    assert bench.segment.truncate_to(106) == 0
    assert bench.segment.size_bytes == 2 * bench.sizes[0]


def test_truncation_updates_the_largest_timestamp(tmp_path: Path) -> None:
    bench = sized(tmp_path, index_interval_bytes=10**6)
    bench.append(100, ms=5)
    bench.append(103, ms=8)
    bench.append(106, ms=90)
    bench.segment.truncate_to(106)
    assert bench.segment.largest == (T0 + 8, 105, -1)
    bench.segment.truncate_to(103)
    assert bench.segment.largest == (T0 + 5, 102, -1)
    bench.segment.truncate_to(100)
    assert bench.segment.largest == (-1, BASE, -1)


def test_truncation_to_zero_resets_the_age(tmp_path: Path) -> None:
    bench = sized(tmp_path, segment_ms=1000)
    bench.append(100, ms=5)
    bench.segment.truncate_to(100)
    bench.append(100, ms=700)
    assert not should_roll(bench, ms=1700)
    assert should_roll(bench, ms=1701)


def test_appends_continue_after_a_truncation(bench: Bench) -> None:
    bench.fill(100, 103, 106)
    bench.segment.truncate_to(103)
    bench.append(103, ms=1, value="other")
    assert [head.base_offset for _, head in bench.segment.heads()] == [100, 103]


# Files


def test_files_are_named_by_the_base_offset_in_twenty_digits(bench: Bench) -> None:
    assert file_name(100, ".index") == "00000000000000000100.index"
    bench.fill(100)
    assert [path.name for path in bench.directory.iterdir()] == ["00000000000000000100.log"]


def test_a_closed_segment_can_be_read_and_appended_to_again(bench: Bench) -> None:
    bench.fill(100, 103)
    bench.segment.close()
    bench.segment = bench.open(new=False)
    bench.fill(106)
    assert bench.segment.largest == (T0 + 106, 108, -1)
    found = bench.read(104)
    assert found is not None
    assert len(content(found)) == 2 * bench.sizes[0]


def test_all_files_are_renamed_and_removed_together(bench: Bench) -> None:
    bench.fill(100, 103)
    bench.segment.write()
    found = bench.read(100)
    bench.segment.rename(".deleted")
    assert sorted(path.name for path in bench.directory.iterdir()) == [
        "00000000000000000100.index.deleted",
        "00000000000000000100.log.deleted",
        "00000000000000000100.timeindex.deleted",
    ]
    bench.segment.remove()
    assert list(bench.directory.iterdir()) == []
    assert found is not None
    assert len(content(found)) == 2 * bench.sizes[0]


def test_paths_follow_a_renamed_directory(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    bench = Bench(tmp_path / "from", LogConfig(index_interval_bytes=0))
    bench.fill(100, 103)
    bench.segment.close()
    (tmp_path / "from").rename(tmp_path / "to")
    bench.segment.moved(str(tmp_path / "to"))
    bench.fill(106)
    bench.segment.close()
    assert len(list((tmp_path / "to").iterdir())) == 3


def test_rebuilt_indexes_do_not_exceed_their_size(tmp_path: Path) -> None:
    """After reopening, entries are added later, so a segment may contain more than its index could have entries for."""
    bench = sized(tmp_path, index_interval_bytes=0, segment_index_bytes=40)
    bench.fill(100)
    for offset in (103, 106, 109, 112):
        bench.segment.close()
        bench.segment = bench.open(new=False)
        bench.fill(offset)
    bench.segment.clear_indexes()
    for position, batch in bench.segment.entries():
        bench.segment.note(position, batch.size, batch.last_offset, batch.max_timestamp, batch.last_offset)
    assert (len(bench.segment.offset_index), len(bench.segment.time_index)) == (2, 2)


# Start position of a search by timestamp


def walked(bench: Bench, ms: int) -> int:
    """Return the number of entries that a search reads."""
    position = bench.segment.position_before(T0 + ms, 0)
    heads = (head for _, head in bench.segment.heads(position))
    return next(at for at, head in enumerate(heads) if head.max_timestamp >= T0 + ms)


def test_search_by_timestamp_starts_near_the_result_even_if_timestamps_do_not_increase(bench: Bench) -> None:
    bench.append(100, ms=500)
    for number in range(1, 50):
        bench.append(100 + 3 * number, ms=number)
    bench.append(250, ms=900)
    assert walked(bench, 700) <= 2
    assert walked(bench, 400) == 0


def test_search_after_reopening_uses_only_the_time_index(bench: Bench) -> None:
    bench.append(100, ms=500)
    for number in range(1, 50):
        bench.append(100 + 3 * number, ms=number)
    bench.append(250, ms=900)
    bench.segment.close()
    bench.segment = bench.open(new=False)
    assert walked(bench, 700) == 50


def test_search_by_timestamp_works_after_a_truncation(bench: Bench) -> None:
    for number, ms in enumerate((5, 9, 7, 30, 8)):
        bench.append(100 + 3 * number, ms=ms)
    bench.segment.truncate_to(109)
    bench.append(109, ms=20)
    bench.append(112, ms=40)
    assert [walked(bench, ms) <= 2 for ms in (6, 9, 15, 35)] == [True] * 4


def test_segment_without_entries_has_no_first_timestamp(bench: Bench) -> None:
    assert bench.segment.first_timestamp == -1


def test_truncated_segment_without_timestamps_has_no_largest_timestamp(tmp_path: Path) -> None:
    bench = sized(tmp_path, index_interval_bytes=0)
    for offset in (100, 101):
        batch = logged(offset, ts=-1)
        bench.segment.append(batch.view(), batch.last_offset, batch.max_timestamp, batch.last_offset)
    bench.segment.truncate_to(101)
    assert bench.segment.largest.timestamp == -1
    assert bench.segment.largest_timestamp == bench.segment.modified_ms
    bench.files.close()
