"""Write options, parsed and checked."""

from pathlib import Path

import pytest

from kafkalet.pipeline.option_types import BadOption
from kafkalet.pipeline.writing.write_options import write_options
from kafkalet.protocol.records.codecs import Codec


def test_without_options_the_defaults_of_kafka_hold() -> None:
    options = write_options({"path": "/data"})
    assert (options.limits.batch_bytes, options.codec, options.append_time) == (16384, Codec.NONE, False)
    assert options.segments == (1 << 30, 7 * 24 * 3600 * 1000, 4096, 10 << 20)
    assert options.shape is None
    assert options.partitions_of("t") is None


def test_names_are_told_apart_without_regard_to_case() -> None:
    assert write_options({"PATH": "/data", "batchsize": "64k"}).limits.batch_bytes == 64 << 10


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(BadOption, match="unknown write option batchBytes; supported options: path"):
        write_options({"path": "/data", "batchBytes": "1"})


def test_partitions_may_be_said_for_each_topic() -> None:
    options = write_options({"path": "/data", "partitions": '{"a": 12}'})
    assert (options.partitions_of("a"), options.partitions_of("b")) == (12, None)
    assert write_options({"path": "/data", "partitions": "3"}).partitions_of("b") == 3


def test_a_file_address_is_a_path() -> None:
    assert write_options({"path": "file:///data"}).path == "/data"
    assert write_options({"path": "file:/data"}).path == "/data"


def test_tasks_write_where_the_driver_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_options({"path": "logs"}).path == str(tmp_path / "logs")


def test_times_have_units() -> None:
    assert write_options({"path": "/d", "segmentMs": "2h"}).segments.segment_ms == 7_200_000


def test_any_of_three_options_gives_a_log_producers() -> None:
    for name, text in (("producers", "2"), ("transactionalShare", "0.5"), ("openTransactions", "1")):
        assert write_options({"path": "/d", name: text}).shape is not None
    assert write_options({"path": "/d", "seed": "3"}).shape is None


def test_a_batch_is_no_larger_than_a_transaction() -> None:
    options = write_options({"path": "/d", "transactionalShare": "1", "transactionSize": "7"})
    assert options.limits.batch_records == 7


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("path", "", r"no output directory: use save\(DIR\)"),
        ("topic", "a b", "invalid topic name 'a b'"),
        ("topic", "..", "invalid topic name '..'"),
        ("partitions", "0", "partitions must be a positive number"),
        ("partitions", "many", "partitions must be a positive number"),
        ("partitions", '{"a": "b"}', "partitions must be a positive number"),
        ("partitionBy", "crc32", "partitionBy must be one of murmur2, column, not crc32"),
        ("compression", "brotli", "compression must be one of none, gzip, snappy, lz4, zstd, not brotli"),
        ("compressionLevel", "high", "compressionLevel must be a whole number, not high"),
        ("timestampType", "now", "timestampType must be one of CreateTime, LogAppendTime, not now"),
        ("batchSize", "big", "batchSize must be a size in bytes"),
        ("segmentBytes", "3g", "segmentBytes must be between 1024 and 2147483647 bytes, not 3221225472"),
        ("segmentMs", "0", "segmentMs must be a time in milliseconds"),
        ("batchRecords", "0", "batchRecords must be at least 1, not 0"),
        ("abortedShare", "1.5", "abortedShare must be a share between 0 and 1, not 1.5"),
        ("transactionalShare", "half", "transactionalShare must be a share between 0 and 1, not half"),
        ("durable", "perhaps", "durable must be one of true, false, not perhaps"),
        ("leaderEpoch", "-1", "leaderEpoch must be at least 0, not -1"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, text: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        write_options({"path": "/data", name: text})
