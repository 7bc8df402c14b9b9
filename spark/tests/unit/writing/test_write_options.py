"""Write options, parsed and checked."""

from pathlib import Path

import pytest

from kafkalet.protocol.records.codecs import Codec
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.writing.write_options import write_options


def test_defaults_are_those_of_kafka() -> None:
    options = write_options({"path": "/data"})
    assert (options.limits.batch_bytes, options.codec, options.append_time) == (16384, Codec.NONE, False)
    assert options.segments == (1 << 30, 7 * 24 * 3600 * 1000, 4096, 10 << 20)
    assert options.shape is None
    assert options.partitions_of("t") is None


def test_option_names_are_case_insensitive() -> None:
    assert write_options({"PATH": "/data", "batchsize": "64k"}).limits.batch_bytes == 64 << 10


def test_unknown_option_is_rejected_by_name() -> None:
    with pytest.raises(BadOption, match="unknown write option batchBytes; supported options: path"):
        write_options({"path": "/data", "batchBytes": "1"})


def test_partitions_may_be_given_by_topic() -> None:
    options = write_options({"path": "/data", "partitions": '{"a": 12}'})
    assert (options.partitions_of("a"), options.partitions_of("b")) == (12, None)
    assert write_options({"path": "/data", "partitions": "3"}).partitions_of("b") == 3


def test_file_url_is_accepted_as_path() -> None:
    assert write_options({"path": "file:///data"}).path == "/data"
    assert write_options({"path": "file:/data"}).path == "/data"


def test_relative_path_is_resolved_on_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_options({"path": "logs"}).path == str(tmp_path / "logs")


def test_durations_accept_units() -> None:
    assert write_options({"path": "/d", "segmentMs": "2h"}).segments.segment_ms == 7_200_000


def test_any_of_three_options_enables_producers() -> None:
    for name, text in (("producers", "2"), ("transactionalShare", "0.5"), ("openTransactions", "1")):
        assert write_options({"path": "/d", name: text}).shape is not None
    assert write_options({"path": "/d", "seed": "3"}).shape is None


def test_batch_is_not_larger_than_a_transaction() -> None:
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
        ("abortedShare", "1.5", "abortedShare must be a number between 0 and 1, not 1.5"),
        ("transactionalShare", "half", "transactionalShare must be a number between 0 and 1, not half"),
        ("durable", "perhaps", "durable must be one of true, false, not perhaps"),
        ("leaderEpoch", "-1", "leaderEpoch must be at least 0, not -1"),
    ],
)
def test_invalid_value_is_rejected_with_allowed_values(name: str, text: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        write_options({"path": "/data", name: text})
