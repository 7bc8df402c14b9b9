"""What the columns say, and what the exact reader of the protocol says of the same bytes, to be compared."""

from kafkalet.pipeline.decoding.batches import Batches, walk
from kafkalet.pipeline.decoding.records import Records, decode
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.record import wrapped
from kafkalet.protocol.wire import Buffer

Seen = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]


def rows_of(records: Records) -> list[Seen]:
    """(offset, timestamp, timestamp type, key, value, headers, row of the entry) for each record."""
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


def rows_of_entry(batch: Batch, row: int = 0) -> list[Seen]:
    """The same of one entry, by the protocol's reader. Raises KafkaError."""
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
    """Java puts U+FFFD where the protocol's reader escapes what is no UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decoded(data: Buffer) -> list[Seen]:
    return rows_of(decode(data, walked(data)))


def expected(data: Buffer) -> list[Seen]:
    return [seen for row, batch in enumerate(batches(data)) for seen in rows_of_entry(batch, row)]


def walked(data: Buffer) -> Batches:
    found, stop = walk(data)
    assert stop == len(data)
    return found
