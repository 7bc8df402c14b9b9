"""Unusual logs: gaps, markers, aborted transactions, old formats, large batches, and batches with a wrong checksum."""

from typing import Any, NamedTuple

from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_conformance.clients.judges import consumed
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Stage

CATALOG = Catalog(role=Role.CONSUME)
scenario = CATALOG.scenario

MORE = 5
"""The number of records after each shape: the consumer must not get stuck in front of them."""


class Shape(NamedTuple):
    """A layout of `Topic.shape`."""

    kind: str
    visible: int
    """How many records a consumer gets from it."""
    claim: str
    source: str
    isolation: str = "read_uncommitted"


SHAPES = (
    Shape("gap", 10, "reads across offsets that are missing between two batches", "log compaction; KIP-98"),
    Shape("segment_gap", 10, "reads across offsets that are missing between two segments", "log compaction"),
    Shape("compacted", 12, "reads a batch from which compaction removed records", "DefaultRecordBatch.lastOffset"),
    Shape(
        "empty_batch", 10, "reads across a batch without records", "DefaultRecordBatch.writeEmptyHeader (KAFKA-5435)"
    ),
    Shape("starts_with_marker", 5, "reads a log that starts with transaction markers", "KIP-98: control batches"),
    Shape("ends_with_marker", 8, "reads across a transaction marker at the end", "KIP-98: control batches"),
    Shape("only_markers", 0, "reads across a log of transaction markers", "KIP-98: control batches"),
    Shape("committed", 13, "returns a committed transaction", "KIP-98", "read_committed"),
    Shape(
        "aborted", 10, "skips an aborted transaction", "CompletedFetch.consumeAbortedTransactionsUpTo", "read_committed"
    ),
    Shape("aborted", 13, "returns an aborted transaction with read_uncommitted", "KIP-98: isolation.level"),
    Shape("old_magic", 17, "reads messages of the formats 0 and 1, plain and compressed", "AbstractLegacyRecordBatch"),
    Shape("no_timestamp", 13, "returns records without a timestamp", "RecordBatch.NO_TIMESTAMP"),
    Shape("future_timestamp", 13, "returns records whose timestamps are in the future", "KIP-32"),
    Shape("falling_timestamps", 13, "returns records whose timestamps fall", "KIP-32"),
    Shape("segments", 16, "reads a log of many segments", "LogSegment"),
)


def _shaped(shape: Shape) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.topic.layout(shape.kind)  # type: ignore[arg-type]  # one of the literals
        stage.topic.send_batch([(f"more{number}", f"more{number}") for number in range(MORE)], partition=0)

    return play


for _shape in SHAPES:
    _name = f"consume-{_shape.kind.replace('_', '-')}"
    scenario(
        f"A consumer {_shape.claim}, and goes on.",
        _shape.source,
        name=f"{_name}-uncommitted" if _name in CATALOG.scenarios else _name,
        judge=consumed(),
        count=_shape.visible + MORE,
        isolation=_shape.isolation,
    )(_shaped(_shape))


def _after_transaction(stage: Stage, *, commit: bool) -> None:
    """Leave a transaction open until the consumer waits at its first offset, and then complete it."""
    stage.create_topic()
    stage.send(5)
    transaction = stage.cluster.open_transaction("conformance-open")
    transaction.__enter__()
    transaction.send(stage.topic.name, "in-transaction", key="in-transaction", partition=0)
    stage.start()
    stage.wait_for_position(5)
    failure = None if commit else ValueError("the transaction is to be aborted")
    transaction.__exit__(type(failure) if failure else None, failure, None)
    stage.send(5)


@scenario(
    "A read_committed consumer returns the records of a transaction after its commit, and not before.",
    "KIP-98: the last stable offset",
    judge=consumed(),
    count=11,
    isolation="read_committed",
)
def consume_waits_for_commit(stage: Stage) -> None:
    _after_transaction(stage, commit=True)


@scenario(
    "A read_committed consumer continues after an open transaction was aborted, and returns none of its records.",
    "KIP-98: the last stable offset; CompletedFetch.consumeAbortedTransactionsUpTo",
    judge=consumed(),
    count=10,
    isolation="read_committed",
)
def consume_waits_for_abort(stage: Stage) -> None:
    _after_transaction(stage, commit=False)


for _codec in ("gzip", "snappy", "lz4", "zstd"):

    def _compressed(codec: str) -> Play:
        def play(stage: Stage) -> None:
            stage.create_topic()
            stage.topic.send_batch([(f"{n}", f"{n}" * 50) for n in range(20)], partition=0, compression=codec)

        return play

    scenario(
        f"A consumer reads batches that are compressed with {_codec}.",
        "KIP-110; CompressionType",
        name=f"consume-{_codec}",
        judge=consumed(error="the client may lack the codec"),
    )(_compressed(_codec))


@scenario(
    "A consumer makes progress when a batch is larger than its limits for a fetch.",
    "KIP-74; ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG: the first batch is returned whole",
    judge=consumed(),
    count=25,
)
def consume_large_batch(stage: Stage) -> None:
    stage.create_topic(config={"max.message.bytes": 10_000_000})
    rows = [(stage.cluster.now_ms(), b"large", b"%03d" % number * 50_000, ()) for number in range(20)]
    stage.cluster.topic(stage.topic.name).append(build_batch(numbered(rows)))
    stage.send(5)


@scenario(
    "A consumer does not return a record whose batch has a wrong checksum as if it were right.",
    "ConsumerConfig.CHECK_CRCS_CONFIG is true by default; DefaultRecordBatch.ensureValid",
    judge=consumed(error="a batch with a wrong checksum is an error (CorruptRecordException)"),
)
def consume_wrong_checksum(stage: Stage) -> None:
    """Change the value of the first record: 0 becomes 1."""

    def change(response: Any) -> bool:
        for topic in response.responses:
            for partition in topic.partitions:
                if partition.records:
                    data = bytearray(bytes(_all(partition.records)))
                    size = 12 + int.from_bytes(data[8:12], "big")
                    data[size - 2] ^= 1  # the value; the number of headers follows
                    partition.records = bytes(data)
                    return True
        return False

    stage.create_topic()
    stage.send(20)
    stage.rewrite("Fetch", change, times=1)


def _all(records: Any) -> Any:
    return records.read() if hasattr(records, "read") else records
