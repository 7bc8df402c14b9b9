from pathlib import Path

import pytest

from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_spark.decoding.chunks import Chunk, Problem, read_chunks
from kafkalet_spark.decoding.records import decode
from tests.unit.protocol.records.strategies import NOW

SIZES = (1, 50, 1, 300, 2, 5000, 9)
ENTRIES = [
    build_batch(numbered([(NOW, None, bytes(size), ())], offset), base_offset=offset)
    for offset, size in enumerate(SIZES)
]
LOG = b"".join(ENTRIES)


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(LOG)
    return str(file)


def write(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)


def problems(path: str, end: int, start: int = 0, chunk_bytes: int = 100) -> list[Problem]:
    return [problem for chunk in read_chunks(path, start, end, chunk_bytes=chunk_bytes) for problem in chunk.problems]


def offsets(chunks: list[Chunk]) -> list[int]:
    return [offset for chunk in chunks for offset in decode(chunk.buffer, chunk.batches).offset.tolist()]


@pytest.mark.parametrize("chunk_bytes", [1, 12, 16, 17, 61, 100, 200, 1000, 5200, 1 << 20])
def test_all_entries_are_complete_for_any_chunk_size(path: str, chunk_bytes: int) -> None:
    chunks = list(read_chunks(path, 0, len(LOG), chunk_bytes=chunk_bytes))
    assert offsets(chunks) == list(range(len(SIZES)))
    for chunk in chunks:
        assert chunk.problems == ()
        assert len(chunk.buffer) <= max(chunk_bytes, max(map(len, ENTRIES)))
        for at, size in zip(chunk.batches.position.tolist(), chunk.batches.size.tolist(), strict=True):
            assert chunk.buffer[at : at + size] == LOG[chunk.position + at : chunk.position + at + size]


def test_only_the_requested_range_is_read(path: str) -> None:
    start, end = len(ENTRIES[0]), len(LOG) - len(ENTRIES[-1])
    assert offsets(list(read_chunks(path, start, end, chunk_bytes=150))) == [1, 2, 3, 4, 5]


def test_range_past_the_end_of_the_file_is_truncated(path: str) -> None:
    [problem] = problems(path, len(LOG) + 90, start=len(LOG) + 40)
    assert (problem.position, problem.size) == (len(LOG) + 40, 50)
    assert problem.reason == "truncated: the file ends 50 bytes too early"


def test_empty_range_has_no_chunks(path: str) -> None:
    assert list(read_chunks(path, 50, 50)) == []


@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_entry_with_bad_checksum_is_a_problem(path: str, chunk_bytes: int) -> None:
    position = sum(map(len, ENTRIES[:3]))
    damage = bytearray(LOG)
    damage[position + 70] ^= 1
    write(path, damage)
    chunks = list(read_chunks(path, 0, len(LOG), chunk_bytes=chunk_bytes))
    assert offsets(chunks) == [0, 1, 2, 4, 5, 6]
    (problem,) = [problem for chunk in chunks for problem in chunk.problems]
    assert problem[:3] == (path, position, len(ENTRIES[3]))
    assert problem.base_offset == 3
    assert "checksum" in problem.reason


def test_checksums_are_not_verified_if_disabled(path: str) -> None:
    damage = bytearray(LOG)
    damage[-1] ^= 1
    write(path, damage)
    chunks = list(read_chunks(path, 0, len(LOG), check_crcs=False))
    assert [chunk.problems for chunk in chunks] == [()]
    assert chunks[0].batches.position.size == len(SIZES)


@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_everything_after_invalid_size_is_one_problem(path: str, chunk_bytes: int) -> None:
    position = sum(map(len, ENTRIES[:3]))
    damage = bytearray(LOG)
    damage[position + 8 : position + 12] = b"\0\0\0\5"
    write(path, damage)
    chunks = list(read_chunks(path, 0, len(LOG), chunk_bytes=chunk_bytes))
    assert offsets(chunks) == [0, 1, 2]
    (problem,) = [problem for chunk in chunks for problem in chunk.problems]
    assert problem == Problem(
        path, position, len(LOG) - position, "its length is 5, below the minimum of all formats", base_offset=3
    )


@pytest.mark.parametrize("missing", [1, 20, 5000, 5050])
@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_entry_cut_off_at_the_end_is_truncated(path: str, missing: int, chunk_bytes: int) -> None:
    behind = sum(map(len, ENTRIES[:6]))
    position = behind - len(ENTRIES[5])
    write(path, LOG[: behind - missing])
    (problem,) = problems(path, behind - missing, chunk_bytes=chunk_bytes)
    assert (problem.position, problem.size, problem.base_offset) == (position, len(ENTRIES[5]) - missing, 5)
    assert problem.reason.startswith("truncated: ")
    assert offsets(list(read_chunks(path, 0, behind - missing, chunk_bytes=chunk_bytes))) == [0, 1, 2, 3, 4]


def test_entry_that_extends_past_the_range_is_truncated(path: str) -> None:
    (problem,) = problems(path, len(ENTRIES[0]) + 30)
    assert (problem.position, problem.reason) == (
        len(ENTRIES[0]),
        f"truncated: 30 of {len(ENTRIES[1])} bytes",
    )


@pytest.mark.parametrize("rest", [8, 11, 12, 16])
def test_few_remaining_bytes_are_truncated(path: str, rest: int) -> None:
    write(path, LOG + ENTRIES[1][:rest])
    (problem,) = problems(path, len(LOG) + rest)
    assert (problem.position, problem.size) == (len(LOG), rest)
    assert problem.reason.startswith("truncated: ")
    assert problem.base_offset == 1


def test_file_that_ends_before_the_range_is_truncated(path: str) -> None:
    (problem,) = problems(path, len(LOG) + 10)
    assert (problem.position, problem.size, problem.base_offset) == (len(LOG), 10, None)
    assert problem.reason.startswith("truncated: the file ends")


@pytest.mark.parametrize("zeros", [1, 11, 12, 16, 17, 61, 5000, 3 << 20])
@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_trailing_zeros_are_not_a_problem(path: str, zeros: int, chunk_bytes: int) -> None:
    write(path, LOG + bytes(zeros))
    chunks = list(read_chunks(path, 0, len(LOG) + zeros, chunk_bytes=chunk_bytes))
    assert [problem for chunk in chunks for problem in chunk.problems] == []
    assert offsets(chunks) == list(range(len(SIZES)))


def test_zeros_followed_by_data_are_a_problem(path: str) -> None:
    write(path, LOG + bytes(2 << 20) + b"x")
    (problem,) = problems(path, len(LOG) + (2 << 20) + 1)
    assert (problem.position, problem.size) == (len(LOG), (2 << 20) + 1)


def test_file_of_zeros_has_no_entries(path: str) -> None:
    write(path, bytes(5000))
    assert list(read_chunks(path, 0, 5000, chunk_bytes=100)) == []


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_chunks(str(tmp_path / "none.log"), 0, 5))
