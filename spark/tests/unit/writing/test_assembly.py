"""Prepared logs are like those that a broker would have left."""

from pathlib import Path

import kafkalet
from kafkalet import formats
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.indexes import read_transaction_index
from kafkalet_spark.logs.transactions import aborted_transactions, last_stable_offset, open_transactions

from .making import entries, load, log, numbered, records, rows


def numbers(path: Path, partition: int = 0) -> list[int]:
    return [int((record.value or b"").strip(b".")) for record in records(path, partition)]


def test_fragments_are_ordered_by_first_timestamp(tmp_path: Path) -> None:
    load(tmp_path, [numbered(1000, 500)], [numbered(0, 500)], [numbered(2000, 500)])
    assert numbers(tmp_path) == [*range(500), *range(1000, 1500), *range(2000, 2500)]


def test_fragments_with_equal_timestamp_are_ordered_by_task(tmp_path: Path) -> None:
    load(tmp_path, *([rows(value=[b"%d" % task])] for task in range(12)))
    assert numbers(tmp_path) == list(range(12))


def test_second_load_is_appended_to_the_first(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 500)], partitions=2)
    load(tmp_path, [numbered(500, 500)], partitions=2)
    assert sorted(numbers(tmp_path) + numbers(tmp_path, 1)) == list(range(1000))
    assert len(log(tmp_path).segments) == 2


def test_overwrite_replaces_only_written_topics(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)], partitions=3)
    load(tmp_path, [numbered(0, 7)], topic="other")
    topic_id = log(tmp_path).topic_id
    load(tmp_path, [numbered(0, 20)], overwrite=True)
    assert sorted(number for partition in range(3) for number in numbers(tmp_path, partition)) == list(range(20))
    assert log(tmp_path).topic_id == topic_id
    assert len(records(tmp_path, topic="other")) == 7


def test_overwrite_may_reduce_partitions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)], partitions=3)
    load(tmp_path, [numbered(0, 20)], overwrite=True, partitions=1)
    assert sorted(path.name for path in tmp_path.glob("t-*")) == ["t-0"]
    assert checkpoints.read_offsets(str(tmp_path / formats.HIGH_WATERMARKS)) == {("t", 0): 20}


def test_partitions_without_records_are_created_empty(tmp_path: Path) -> None:
    load(tmp_path, [rows(value=[b"0"], partition=[1])], partitions=3)
    assert [len(records(tmp_path, partition)) for partition in range(3)] == [0, 1, 0]
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        assert [broker.topic("t").log(number).log_end_offset for number in range(3)] == [0, 1, 0]


def test_topic_id_is_the_same_in_all_partitions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)], partitions=4)
    ids = {log(tmp_path, partition).topic_id for partition in range(4)}
    assert len(ids) == 1
    assert None not in ids
    load(tmp_path, [numbered(0, 10)], partitions=6)
    assert {log(tmp_path, partition).topic_id for partition in range(6)} == ids


def test_checkpoints_are_those_of_a_clean_shutdown(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)])
    load(tmp_path, [numbered(0, 5)])
    for name in (formats.RECOVERY_POINTS, formats.HIGH_WATERMARKS):
        assert checkpoints.read_offsets(str(tmp_path / name)) == {("t", 0): 15}
    assert (tmp_path / formats.CLEAN_SHUTDOWN).exists()


def test_unclean_directory_stays_unclean(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)])
    (tmp_path / formats.CLEAN_SHUTDOWN).unlink()
    load(tmp_path, [numbered(0, 5)])
    assert not (tmp_path / formats.CLEAN_SHUTDOWN).exists()


def test_new_leader_epoch_begins_at_the_load(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 10)])
    load(tmp_path, [numbered(0, 10)], leaderEpoch=3)
    load(tmp_path, [numbered(0, 10)])
    epochs, starts = checkpoints.read_epochs(str(tmp_path / "t-0" / formats.LEADER_EPOCHS))
    assert (epochs.tolist(), starts.tolist()) == ([0, 3], [0, 10])
    assert [batch.leader_epoch for batch in entries(tmp_path)] == [0, 3, 3]


def test_open_transaction_limits_last_stable_offset_of_appended_aborts(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)], openTransactions=1)
    (first,) = open_transactions(log(tmp_path)).first_offset.tolist()
    load(tmp_path, [numbered(100, 100)], transactionalShare=1, abortedShare=1, transactionSize=10)
    assert len(aborted_transactions(log(tmp_path), 0, 1 << 40).producer_id) >= 10
    last = log(tmp_path).segments[-1]
    assert set(read_transaction_index(last.txn_index_path, 0).last_stable_offset.tolist()) == {first}


def test_broker_and_load_append_to_each_others_logs(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        broker.topic("t").create(2)
    load(tmp_path, [numbered(0, 100)])
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        ends = [broker.topic("t").log(number).log_end_offset for number in range(2)]
        assert ends == [len(records(tmp_path, number)) for number in range(2)]
        assert sum(ends) == 100
    load(tmp_path, [numbered(100, 100)])
    assert sorted(numbers(tmp_path) + numbers(tmp_path, 1)) == list(range(200))


def test_broker_has_the_same_last_stable_offset(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 300)], transactionalShare=1, abortedShare=0.5, transactionSize=10, openTransactions=2)
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        partition = broker.topic("t").log()
        assert partition.last_stable_offset == last_stable_offset(log(tmp_path)) < partition.log_end_offset
        assert partition.high_watermark == partition.log_end_offset
