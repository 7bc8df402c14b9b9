"""The output of a task does not depend on how its input is divided."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet_spark.writing import task
from tests.profile import examples

from .making import T0, entries, load, numbered, records, rows

SHAPE = {"transactionalShare": 0.5, "transactionSize": 20, "openTransactions": 2}


@pytest.mark.slow
@settings(max_examples=examples(0.2))
@given(
    pieces=st.lists(st.integers(0, 200), min_size=1, max_size=8),
    chunk=st.integers(1, 20_000),
    partitions=st.integers(1, 4),
    shaped=st.booleans(),
)
def test_log_does_not_depend_on_batch_sizes_of_the_input(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], chunk: int, partitions: int, shaped: bool
) -> None:
    path = tmp_path_factory.mktemp("data")
    options = {"partitions": partitions, "batchSize": 500, **(SHAPE if shaped else {})}
    total = sum(pieces)
    load(path / "whole", [numbered(0, total)], **options)
    starts = [sum(pieces[:at]) for at in range(len(pieces))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "CHUNK_BYTES", chunk)
        load(path / "pieces", [numbered(start, count) for start, count in zip(starts, pieces, strict=True)], **options)
    for partition in range(partitions):
        whole, pieced = (
            [batch.to_bytes() for batch in entries(path / name, partition)] for name in ("whole", "pieces")
        )
        assert whole == pieced


def test_rows_keep_their_order_within_partitions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 1000)], partitions=7)
    expected: dict[int, list[int]] = {partition: [] for partition in range(7)}
    for number in range(1000):
        expected[partition_of(b"%d" % (number % 97), 7)].append(number)
    for partition, numbers in expected.items():
        assert [int((record.value or b"").strip(b".")) for record in records(tmp_path, partition)] == numbers


def test_one_task_may_write_many_topics(tmp_path: Path) -> None:
    names = [f"topic-{number % 50}" for number in range(1000)]
    load(tmp_path, [rows(value=[b"%d" % at for at in range(1000)], topic=names)], partitions='{"topic-3": 2}')
    for number in range(50):
        found = [int(record.value or b"") for record in records(tmp_path, 0, f"topic-{number}")]
        if number == 3:
            found = sorted(found + [int(record.value or b"") for record in records(tmp_path, 1, "topic-3")])
        assert found == list(range(number, 1000, 50))


def test_record_may_be_larger_than_a_batch_and_a_chunk(tmp_path: Path) -> None:
    large = bytes(task.CHUNK_BYTES + 5)
    load(tmp_path, [rows(value=[b"a", large, b"b"], timestamp=[T0, T0, T0])])
    assert [batch.count for batch in entries(tmp_path)] == [1, 1, 1]
    assert records(tmp_path)[1].value == large


def test_task_without_rows_writes_nothing(tmp_path: Path) -> None:
    messages = load(tmp_path, [numbered(0, 0)], [numbered(0, 5)])
    assert [len(message.fragments) for message in messages] == [0, 1]
    assert len(records(tmp_path)) == 5
