"""Tests of iterating over the entries of a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage import scan
from kafkalet.storage.files import File, Files

from .producing import logged, message_set, record

Walk = Callable[[File, int, int], Iterator[tuple[int, Batch]]]
both = pytest.mark.parametrize("walk", [scan.heads, scan.entries])


def file_of(directory: Path, data: bytes) -> File:
    file = Files(durable=False).file(str(directory / "0.log"))
    file.write(data, 0)
    return file


def walked(walk: Walk, file: File, start: int = 0, end: int | None = None) -> list[tuple[int, int, int]]:
    return [(at, head.base_offset, head.size) for at, head in walk(file, start, file.size() if end is None else end)]


@both
@pytest.mark.parametrize("size", [1, 3000, 70_000])
def test_entries_of_any_size_are_found(walk: Walk, tmp_path: Path, size: int) -> None:
    made = [bytes(logged(offset).view()) for offset in range(5)]
    made += [bytes(message_set(1, record(value="x" * size)))] * 40
    position, expected = 0, []
    for data in made:
        expected.append((position, Batch(data).base_offset, len(data)))
        position += len(data)
    assert walked(walk, file_of(tmp_path, b"".join(made))) == expected


@both
def test_iteration_respects_start_and_end(walk: Walk, tmp_path: Path) -> None:
    made = [bytes(logged(offset).view()) for offset in range(4)]
    size = len(made[0])
    file = file_of(tmp_path, b"".join(made))
    assert walked(walk, file, size, 3 * size) == [(size, 1, size), (2 * size, 2, size)]
    assert walked(walk, file, size, 3 * size - 1) == [(size, 1, size)]
    assert walked(walk, file, 4 * size) == []


@both
def test_file_that_has_been_cut_off_is_an_error_that_names_it(walk: Walk, tmp_path: Path) -> None:
    made = bytes(logged(0).view())
    file = file_of(tmp_path, made * 3)
    file.truncate(len(made))
    found = walk(file, 0, 3 * len(made))
    assert next(found)[0] == 0
    with pytest.raises(KafkaError, match=rf"0.log has been cut off at position {len(made)}$") as refused:
        next(found)
    assert refused.value.code is Code.CORRUPT_MESSAGE


@both
def test_incomplete_entry_is_skipped(walk: Walk, tmp_path: Path) -> None:
    made = bytes(logged(0).view())
    for cut in range(1, len(made)):
        file = file_of(tmp_path, made + made[:cut])
        file.truncate(len(made) + cut)
        assert walked(walk, file) == [(0, 0, len(made))]


@both
def test_invalid_length_is_corruption(walk: Walk, tmp_path: Path) -> None:
    file = file_of(tmp_path, bytes(logged(0).view()) + bytes(100))
    found = walk(file, 0, file.size())
    next(found)
    with pytest.raises(KafkaError) as refused:
        next(found)
    assert refused.value.code is Code.CORRUPT_MESSAGE


@both
def test_small_messages_of_old_formats_at_the_very_end_are_found(walk: Walk, tmp_path: Path) -> None:
    data = bytes(message_set(0, record(value=None)))
    assert walked(walk, file_of(tmp_path, data)) == [(0, 0, len(data))]


def test_entries_are_complete(tmp_path: Path) -> None:
    made = b"".join(bytes(logged(offset, 3).view()) for offset in range(0, 9, 3))
    found = scan.entries(file_of(tmp_path, made), 0, len(made))
    assert [record.offset for _, batch in found for record in batch.records()] == list(range(9))


def test_entry_is_read_by_its_position(tmp_path: Path) -> None:
    made = [bytes(logged(offset, 2).view()) for offset in (0, 2, 4)]
    batch = scan.entry(file_of(tmp_path, b"".join(made)), len(made[0]), len(made[1]))
    assert [record.offset for record in batch.records()] == [2, 3]
