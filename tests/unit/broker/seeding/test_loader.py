"""Tests of the loader: a file is loaded completely, with each record in its partition, or not at all."""

import asyncio
import errno
import io
import json
import os
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.broker.seeding.loader import BATCH_RECORDS, load
from kafkalet.broker.seeding.partitioner import partition_of
from kafkalet.broker.seeding.record_files import Columns, LoadError
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.record import Record
from kafkalet.testing.cluster import Broker

NOW_MS = 1_600_000_000_000


def written(tmp_path: Path, *entries: dict[str, Any]) -> str:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def records(broker: Broker, topic: str, partition: int = 0) -> list[Record]:
    return [record for batch in broker.topic(topic).log(partition).batches for record in batch.records()]


async def loaded(path: str, *topics: NewTopic, columns: Columns = Columns()) -> list[list[Record]]:  # noqa: B008
    """Return the records of each partition of topic t after the load."""
    async with Broker(topics=topics, clock=ManualClock(NOW_MS)) as broker:
        await load(broker._server, "t", path, columns)
        return [records(broker, "t", index) for index in range(len(broker._server.metadata.topics["t"].partitions))]


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def test_records_are_loaded_unchanged(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"key": "k", "value": {"a": 1}, "headers": {"h": "x"}, "timestamp": 1_500_000_000_000},
        {"value": None, "timestamp": "2017-07-14T02:40:00.001Z"},
    )
    assert run(loaded(path)) == [
        [
            Record(0, 1_500_000_000_000, b"k", b'{"a":1}', (("h", b"x"),)),
            Record(1, 1_500_000_000_001, None, None, ()),
        ]
    ]


def test_a_record_without_a_timestamp_gets_the_time_of_the_load(tmp_path: Path) -> None:
    [[record]] = run(loaded(written(tmp_path, {"value": "x"})))
    assert record.timestamp == NOW_MS


def test_missing_topic_is_created_with_the_defaults_of_the_cluster(tmp_path: Path) -> None:
    async def made() -> tuple[int, int]:
        async with Broker(config={"num.partitions": "3", "auto.create.topics.enable": "false"}) as broker:
            count = await load(broker._server, "t", written(tmp_path, {"value": "x"}, {"value": "y"}))
            return count, len(broker._server.metadata.topics["t"].partitions)

    assert run(made()) == (2, 3)


def test_keyed_records_get_the_partition_of_the_java_producer(tmp_path: Path) -> None:
    keys = [f"key-{number}" for number in range(100)]
    partitions = run(loaded(written(tmp_path, *({"key": key} for key in keys)), NewTopic("t", 4)))
    for index, content in enumerate(partitions):
        assert [record.key for record in content] == [
            key.encode() for key in keys if partition_of(key.encode(), 4) == index
        ]


def test_records_without_a_key_are_distributed_round_robin(tmp_path: Path) -> None:
    partitions = run(loaded(written(tmp_path, *({"value": number} for number in range(9))), NewTopic("t", 3)))
    assert [len(content) for content in partitions] == [3, 3, 3]


def test_named_partition_overrides_the_key(tmp_path: Path) -> None:
    partitions = run(loaded(written(tmp_path, {"key": "k", "partition": 2}), NewTopic("t", 3)))
    assert [len(content) for content in partitions] == [0, 0, 1]


def test_csv_columns_become_key_and_timestamp(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,at\n7,1500000000000\n")
    assert run(loaded(str(path), columns=Columns("id", "at"))) == [
        [Record(0, 1_500_000_000_000, b"7", b'{"id":"7","at":"1500000000000"}', ())]
    ]


def test_batches_hold_at_most_a_thousand_records(tmp_path: Path) -> None:
    async def counts() -> list[int]:
        async with Broker() as broker:
            path = written(tmp_path, *({"value": "x"} for _ in range(2 * BATCH_RECORDS + 1)))
            assert await load(broker._server, "t", path) == 2 * BATCH_RECORDS + 1
            return [batch.count for batch in broker.topic("t").log().batches]

    assert run(counts()) == [BATCH_RECORDS, BATCH_RECORDS, 1]


def test_batches_respect_max_message_bytes(tmp_path: Path) -> None:
    async def sizes() -> list[int]:
        async with Broker(topics=[NewTopic("t", 1, {"max.message.bytes": "1000"})]) as broker:
            await load(broker._server, "t", written(tmp_path, *({"value": "x" * 300} for _ in range(10))))
            return [batch.size for batch in broker.topic("t").log().batches]

    found = run(sizes())
    assert len(found) == 5
    assert max(found) <= 1000


@pytest.mark.parametrize(
    ("config", "bad", "reason"),
    [
        ({}, {"partition": 1}, "partition 1 does not exist; the topic has 1"),
        ({"max.message.bytes": "1000"}, {"value": "x" * 1000}, "MESSAGE_TOO_LARGE"),
        ({"cleanup.policy": "compact"}, {"value": "no key"}, "key"),
        ({"message.timestamp.before.max.ms": "10"}, {"key": "k", "timestamp": 5}, "imestamp"),
    ],
)
def test_invalid_record_is_reported_and_nothing_is_loaded(
    tmp_path: Path, config: dict[str, str], bad: dict[str, Any], reason: str
) -> None:
    async def refused() -> tuple[str, int]:
        good = [{"key": "k", "value": "v"}] * (BATCH_RECORDS + 5)
        async with Broker(topics=[NewTopic("t", 1, config)], clock=ManualClock(NOW_MS)) as broker:
            with pytest.raises(LoadError) as failed:
                await load(broker._server, "t", written(tmp_path, *good, bad, {"key": "k", "value": "v"}))
            return str(failed.value), broker.topic("t").log().log_end_offset

    text, log_end_offset = run(refused())
    assert text.startswith(f"{tmp_path}/a.jsonl:{BATCH_RECORDS + 6}: "), text
    assert reason in text
    assert log_end_offset == 0


def test_invalid_line_creates_no_topic(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"value": "x"}\n' * 2500 + "{")

    async def refused() -> list[str]:
        async with Broker() as broker:
            with pytest.raises(LoadError, match=r"a\.jsonl:2501: is not JSON"):
                await load(broker._server, "t", str(path))
            return list(broker._server.metadata.topics)

    assert run(refused()) == []


def test_invalid_topic_name_is_refused_first(tmp_path: Path) -> None:
    async def refused() -> None:
        async with Broker() as broker:
            with pytest.raises(KafkaError, match="INVALID_TOPIC"):
                await load(broker._server, "a b", str(tmp_path / "none"))

    run(refused())


def test_progress_is_reported(tmp_path: Path) -> None:
    result: list[tuple[int, float]] = []

    async def watched() -> None:
        async with Broker() as broker:
            path = written(tmp_path, *({"value": "x"} for _ in range(2500)))
            await load(broker._server, "t", path, progress=lambda count, part: result.append((count, part)))

    run(watched())
    assert [count for count, _ in result] == [1000, 2000, 2500]
    assert result[-1][1] == 1.0


def test_full_temporary_directory_is_named_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with pytest.raises(OSError, match="No space left on device") as failed:
        run(loaded(written(tmp_path, {"value": "v"}), NewTopic("t")))
    assert failed.value.filename == tempfile.gettempdir()
