"""Decodes bytes to columns and with the protocol's record decoder, for comparison."""

from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.record import wrapped
from kafkalet.protocol.wire import Buffer
from kafkalet_spark.decoding.batches import Batches, walk
from kafkalet_spark.decoding.records import Records, decode

Row = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]


def rows_of(records: Records) -> list[Row]:
    """Return (offset, timestamp, timestamp type, key, value, headers, row of the entry) for each record."""
    headers = [tuple((header["key"], header["value"]) for header in some or ()) for some in records.headers.to_pylist()]
    return list(
        zip(
            records.offset.tolist(),
            records.timestamp.tolist(),
            records.timestamp_type.tolist(),
            records.key.to_pylist(),
            records.value.to_pylist(),
            headers,
            records.row.tolist(),
            strict=True,
        )
    )


def rows_of_entry(batch: Batch, row: int = 0) -> list[Row]:
    """Return the same for one entry, with the protocol's decoder. Raises KafkaError."""
    return [
        (
            wrapped(record.offset),
            wrapped(record.timestamp),
            int(batch.timestamp_type),
            record.key,
            record.value,
            tuple((as_java(key), value) for key, value in record.headers),
            row,
        )
        for record in batch.records()
    ]


def as_java(name: str) -> str:
    """Replace invalid UTF-8, which the protocol's decoder escapes, by U+FFFD as Java does."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decoded(data: Buffer) -> list[Row]:
    return rows_of(decode(data, walked(data)))


def expected(data: Buffer) -> list[Row]:
    return [seen for row, batch in enumerate(batches(data)) for seen in rows_of_entry(batch, row)]


def walked(data: Buffer) -> Batches:
    found, stop = walk(data)
    assert stop == len(data)
    return found
