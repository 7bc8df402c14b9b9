"""Iterating over the entry headers of a file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.build import build_batch, build_message_set
from kafkalet.protocol.records.codecs import Codec
from kafkalet_spark.logs.heads import head_at, heads

from .made import records


def written(path: Path, *entries: bytes) -> str:
    file = path / "00000000000000000000.log"
    file.write_bytes(b"".join(entries))
    return str(file)


def batch(offset: int, size: int = 10, count: int = 1) -> bytes:
    numbered = [each._replace(offset=offset + at) for at, each in enumerate(records(*range(count), value=bytes(size)))]
    return build_batch(numbered, base_offset=offset, producer_id=5, producer_epoch=2, base_sequence=9, leader_epoch=3)


def fields(each: Batch) -> tuple[object, ...]:
    return (
        each.position, each.size, each.base_offset, each.last_offset, each.leader_epoch, each.magic, each.attributes,
        each.max_timestamp, each.producer_id, each.producer_epoch, each.base_sequence,
    )  # fmt: skip


sizes = st.lists(st.one_of(st.integers(0, 200), st.integers(3000, 9000), st.integers(60_000, 70_000)), max_size=12)


@given(sizes)
def test_headers_of_all_complete_entries_are_read(tmp_path_factory: pytest.TempPathFactory, lengths: list[int]) -> None:
    data = b"".join(batch(3 * at, size, 2) for at, size in enumerate(lengths))
    path = written(tmp_path_factory.getbasetemp(), data)
    walk = heads(path, 0, len(data))
    assert [tuple(head) for head in walk] == [fields(each) for each in batches(data)]
    assert (walk.position, walk.fault) == (len(data), None)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_messages_and_wrappers_of_old_formats_are_recognized(tmp_path: Path, magic: int, codec: Codec) -> None:
    data = build_message_set(magic, records(3, 9, 6), codec=codec) + batch(3)
    path = written(tmp_path, data)
    found = list(heads(path, 0, len(data)))
    assert [tuple(head) for head in found] == [fields(each) for each in batches(data)]
    assert found[0].is_wrapper == (codec is Codec.GZIP)
    assert not found[-1].is_wrapper


def test_header_flags_have_properties(tmp_path: Path) -> None:
    plain = build_batch(records(1), producer_id=5, producer_epoch=0, base_sequence=0)
    control = build_batch(records(1), producer_id=5, producer_epoch=0, is_transactional=True, is_control=True)
    path = written(tmp_path, plain, control)
    first, second = heads(path, 0, len(plain + control))
    assert (first.is_control, first.is_transactional, first.is_log_append_time) == (False, False, False)
    assert (second.is_control, second.is_transactional, second.end) == (True, True, len(plain + control))


def test_walk_keeps_to_its_bounds(tmp_path: Path) -> None:
    entries = [batch(at) for at in range(4)]
    path = written(tmp_path, *entries)
    walk = heads(path, len(entries[0]), len(b"".join(entries[:3])))
    assert [head.base_offset for head in walk] == [1, 2]
    assert walk.fault is None
    assert head_at(path, len(entries[0]), 1 << 20) is not None


def test_no_file_is_opened_for_an_empty_range(tmp_path: Path) -> None:
    assert list(heads(str(tmp_path / "nowhere"), 5, 5)) == []
    with pytest.raises(FileNotFoundError):
        list(heads(str(tmp_path / "nowhere"), 0, 5))


@pytest.mark.parametrize("cut", [10, 16, 17, 40, 61, 70])
def test_entry_that_extends_past_the_end_is_truncated(tmp_path: Path, cut: int) -> None:
    first, second = batch(0), batch(1)
    data = first + second[:cut]
    walk = heads(written(tmp_path, data), 0, len(data))
    assert [head.base_offset for head in walk] == [0]
    assert walk.position == len(first)
    assert walk.fault
    assert walk.fault.startswith("truncated: ")


def test_file_that_has_shrunk_ends_early(tmp_path: Path) -> None:
    data = batch(0) + batch(1)[:30]
    walk = heads(written(tmp_path, data), 0, len(batch(0) + batch(1)))
    assert [head.base_offset for head in walk] == [0]
    assert walk.fault
    assert walk.fault.startswith("truncated: ")


@pytest.mark.parametrize("zeros", [1, 12, 17, 61, 5000, 3 << 20])
def test_preallocated_zeros_end_the_walk(tmp_path: Path, zeros: int) -> None:
    data = batch(0) + bytes(zeros)
    walk = heads(written(tmp_path, data), 0, len(data))
    assert [head.base_offset for head in walk] == [0]
    assert (walk.position, walk.fault) == (len(batch(0)), None)


@pytest.mark.parametrize(
    ("at", "change", "reason"),
    [
        (8, b"\xff\xff\xff\xff", "a length of -1 bytes is too small"),
        (8, b"\0\0\0\x30", "a length of 48 bytes is too small"),
        (16, b"\x03", "no entry has magic 3"),
        (16, b"\xff", "no entry has magic 255"),
        (0, b"\xff", "offset -72057594037927935 is negative"),
        (8, b"\x7f", "truncated: an entry of "),
    ],
)
def test_invalid_entry_ends_the_walk_with_reason(tmp_path: Path, at: int, change: bytes, reason: str) -> None:
    damaged = bytearray(batch(1))
    damaged[at : at + len(change)] = change
    data = batch(0) + damaged + batch(2)
    walk = heads(written(tmp_path, data), 0, len(data))
    assert [head.base_offset for head in walk] == [0]
    assert walk.position == len(batch(0))
    assert walk.fault
    assert walk.fault.startswith(reason)


def test_zeros_followed_by_data_are_a_fault(tmp_path: Path) -> None:
    data = batch(0) + bytes(100) + batch(2)
    walk = heads(written(tmp_path, data), 0, len(data))
    assert [head.base_offset for head in walk] == [0]
    assert walk.fault == "a length of 0 bytes is too small"
