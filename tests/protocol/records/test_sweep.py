import pytest

from kafkalet.protocol.records.record import Record, encode_records, read_record
from kafkalet.protocol.records.runs import Run
from kafkalet.protocol.records.shapes import Unusual
from kafkalet.protocol.records.sweep import sweep

from .strategies import NOW


class Log:
    """A reader that notes what it was given, and how."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.taken: list[tuple[str, int, int]] = []

    def one_by_one(self, position: int, index: int, until: int) -> int:
        self.taken.append(("one by one", index, until))
        for _ in range(index, until):
            _, position = read_record(self.payload, position)
        return position

    def take_run(self, run: Run, index: int) -> None:
        self.taken.append(("ragged" if isinstance(run.starts, list) else "run", index, index + run.length))


def swept(records: list[Record]) -> list[tuple[str, int, int]]:
    payload = encode_records(records, 0, NOW)
    log = Log(payload)
    sweep(payload, 0, len(payload), len(records), log)
    parts = [(start, end) for _, start, end in log.taken]
    assert [start for start, _ in parts] == [0, *(end for _, end in parts)][: len(parts)]
    assert not parts or parts[-1][1] == len(records)
    return log.taken


def of_sizes(*sizes: int) -> list[Record]:
    return [Record(index, NOW, b"key", bytes(size)) for index, size in enumerate(sizes)]


def test_no_records_are_nothing_to_take() -> None:
    assert swept([]) == []


def test_few_records_are_taken_one_by_one() -> None:
    assert swept(of_sizes(*[5] * 15)) == [("one by one", 0, 15)]


def test_records_of_one_size_are_taken_as_runs() -> None:
    assert swept(of_sizes(*[100] * 1000)) == [("run", 0, 64), ("run", 64, 576), ("run", 576, 1000)]


def test_records_whose_values_differ_are_taken_as_ragged_runs() -> None:
    sizes = [100 + index % 7 for index in range(500)]
    assert swept(of_sizes(*sizes)) == [("ragged", 0, 64), ("ragged", 64, 500)]


def test_where_there_are_no_runs_they_are_looked_for_less_and_less_often() -> None:
    sizes = [60 + index % 9 for index in range(1000)]
    assert swept(of_sizes(*sizes)) == [
        ("one by one", 0, 16),
        ("one by one", 16, 80),
        ("one by one", 80, 336),
        ("one by one", 336, 1000),
    ]


def test_after_other_records_runs_are_found_again() -> None:
    sizes = [1, 2, 3, 4, *[100] * 300]
    assert [kind for kind, _, _ in swept(of_sizes(*sizes))] == ["one by one", "run", "run"]


def test_a_short_run_is_taken_and_then_some_one_by_one() -> None:
    records = of_sizes(*[100] * 40)
    for index in range(10, 15):
        records[index] = records[index]._replace(key=b"ke", value=bytes(101))
    assert swept(records)[:2] == [("run", 0, 10), ("one by one", 10, 26)]


@pytest.mark.parametrize("count", [39, 38])
def test_records_have_to_fill_the_payload(count: int) -> None:
    payload = encode_records(of_sizes(*[100] * 40), 0, NOW)
    with pytest.raises(Unusual):
        sweep(payload, 0, len(payload), count, Log(payload))
