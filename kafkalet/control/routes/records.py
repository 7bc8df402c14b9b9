"""Routes of records: send them, read them, and wait for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from kafkalet.control import fields
from kafkalet.control.data import (
    ENCODING,
    HEADER,
    RECORD,
    OutputEncoding,
    Since,
    key_fields,
    read_data,
    read_headers,
    read_mark,
    record_json,
)
from kafkalet.control.fields import Int32, Int64
from kafkalet.control.route import MAX_RECORDS_BYTES, Call, Routes
from kafkalet.control.shapes import (
    INT32_MAX,
    AnyOf,
    Boolean,
    Field,
    Integer,
    Json,
    ListOf,
    MapOf,
    Nullable,
    Object,
    Text,
)
from kafkalet.protocol.records.codecs import Codec
from kafkalet.tasks.task import finish
from kafkalet.testing.reading import PartitionReader, checked_isolation
from kafkalet.testing.record import ANY, encoded
from kafkalet.testing.topic import Outgoing

if TYPE_CHECKING:
    from kafkalet.storage.values import Isolation
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.record import Record

routes = Routes("records", "Records: send, read and wait for them.")

MAX_RECORDS = 100_000
MAX_RESPONSE_BYTES = 8 << 20
"""The limit for the bytes of keys and values in one response."""

COMPRESSION = Field("compression", Text(*map(str.lower, Codec.__members__)), "The compression codec.", "none")
_RECORD_FIELDS = (
    *key_fields(""),
    Field("headers", Nullable(ListOf(HEADER, most=10_000)), "The headers.", None),
    Field("timestamp", Nullable(Integer(0)), "Milliseconds since 1970 (UTC). The default is the current time.", None),
    Field(
        "partition",
        Nullable(Integer(0, INT32_MAX)),
        "The partition. By default, the key determines it, as in the Java producer; the records of a request that have "
        "no key go to one partition, and those of the next request to the next one.",
        None,
    ),
)
NEW_RECORD = Object("NewRecord", "A record to send.", *_RECORD_FIELDS)
NEW_RECORDS = Object(
    "NewRecords",
    "Records to send, in one batch for each partition, or in several if `max.message.bytes` requires that.",
    Field("records", ListOf(NEW_RECORD, least=1, most=MAX_RECORDS), "The records."),
    COMPRESSION,
)
SENT = Object(
    "SentRecord",
    "The position of a record in the log.",
    Field("partition", Integer(0, INT32_MAX), "The partition."),
    Field("offset", Integer(0), "The offset."),
)
SENT_RECORDS = Object(
    "SentRecords", "The positions of the records.", Field("records", ListOf(SENT), "In the order of the request.")
)
RECORDS = Object(
    "Records",
    "Records of a topic.",
    Field("records", ListOf(RECORD), "The records, by partition and offset."),
    Field(
        "next_offsets", MapOf(Integer(0), of_integers=True), "The offset at which to continue, for each partition read."
    ),
    Field("has_more", Boolean(), "Whether there are more records to read at `next_offsets`."),
)
FOUND = Object(
    "FoundRecords",
    "The records for which a request waited.",
    Field("records", ListOf(RECORD), "The first `n` that match, by partition and offset."),
)


# Send


@routes.post(
    "/v1/topics/{name}/records",
    AnyOf([NEW_RECORD, NEW_RECORDS], lambda body: int(isinstance(body, dict) and "records" in body)),
    response=SENT_RECORDS,
    max_body_bytes=MAX_RECORDS_BYTES,
)
def send_records(call: Call, name: fields.Name, body: Json) -> Json:
    """Append records as if a producer had sent them with acks=all: a single one, or several in `records`.

    A topic that does not exist is created with the defaults of the brokers. If a partition refuses its records,
    nothing is appended.
    """
    rows: Sequence[Mapping[str, Json]] = body.get("records") or [body]
    records = [
        Outgoing(
            read_data(row["key"], row["key_encoding"], "key"),
            read_data(row["value"], row["value_encoding"], "value"),
            read_headers(row["headers"]),
            row["timestamp"],
            row["partition"],
        )
        for row in rows
    ]
    codec = Codec[body.get("compression", "none").upper()]
    sent = call.cluster.topic(name)._send(records, codec)
    return {"records": [{"partition": record.partition, "offset": record.offset} for record in sent]}


# Read


@routes.get("/v1/topics/{name}/records", response=RECORDS)
def read_records(
    call: Call,
    name: fields.Name,
    partition: Annotated[Int32 | None, "The partition. The default is all partitions."] = None,
    offset: Annotated[Int64 | None, "The first offset to read. The default is the log start offset."] = None,
    time_ms: Annotated[
        Int64 | None, "Start at the first record with this timestamp or a later one, as in ListOffsets."
    ] = None,
    last: Annotated[int | None, Integer(1, MAX_RECORDS), "Start this many offsets before the end."] = None,
    since: Since = None,
    limit: Annotated[int, Integer(1, MAX_RECORDS), "The largest number of records of each partition."] = 100,
    isolation: fields.IsolationLevel = "read_uncommitted",
    encoding: OutputEncoding = "auto",
) -> Json:
    """Return records that a consumer can receive now.

    At most one of `offset`, `time_ms`, `last` and `since` may be given. If a partition has no leader, its records are
    unknown, and the request fails.
    """
    if sum(each is not None for each in (offset, time_ms, last, since)) > 1:
        raise ValueError("offset, time_ms, last and since exclude each other; give one of them")
    server = call.cluster._server
    count = server.call(lambda: len(server.metadata.existing_topic(name).partitions))
    if partition is not None:
        server.call(lambda: server.metadata.existing_partition(name, partition))
    mark = read_mark(since, name)
    records: list[Record] = []
    next_offsets: dict[int, int] = {}
    has_more = False
    size = 0
    level = checked_isolation(isolation)
    for index in range(count) if partition is None else [partition]:
        if mark is not None:
            start = call.cluster.topic(name)._after(mark, index)
        elif time_ms is not None or last is not None:
            start = _start(call.cluster, name, index, level, time_ms, last)
        else:
            start = offset or 0
        reader = PartitionReader(call.cluster, name, index, level, start)
        found: list[Record] = []
        for record in reader.read():
            if len(found) == limit or ((records or found) and size > MAX_RESPONSE_BYTES):
                has_more = True
                next_offsets[index] = record.offset
                break
            size += len(record.key or b"") + len(record.value or b"")
            found.append(record)
        next_offsets.setdefault(index, reader.offset)
        records += found
    return {
        "records": [record_json(record, encoding) for record in records],
        "next_offsets": next_offsets,
        "has_more": has_more,
    }


def _start(cluster: Cluster, name: str, index: int, isolation: Isolation, time_ms: int | None, last: int | None) -> int:
    """Return the first offset at or after a time, or a number of offsets before the end."""

    def look() -> int:
        leader = cluster._server.leadership.leader_of(name, index)
        end = isolation.bound(leader.log)
        if last is not None:
            return max(0, end - last)
        found = finish(leader.offset_for(time_ms or 0, isolation, None, only_leader=True))
        return end if found is None else found.offset

    return cluster._server.call(look)


# Wait


@routes.post(
    "/v1/topics/{name}/wait", "What to wait for. Records match if they meet all conditions.", response=FOUND, waits=True
)
def wait_for_records(
    call: Call,
    name: fields.Name,
    *,
    n: Annotated[int, Integer(1, MAX_RECORDS), "The number of records."] = 1,
    key: Annotated[str | None, "The key of the records. null matches any."] = None,
    key_encoding: Annotated[str, ENCODING, "The encoding of `key`."] = "text",
    value: Annotated[str | None, "The value of the records. null matches any."] = None,
    value_encoding: Annotated[str, ENCODING, "The encoding of `value`."] = "text",
    value_contains: Annotated[str | None, "A text that the values contain, as UTF-8."] = None,
    header: Annotated[Json | None, HEADER, "A header of the records."] = None,
    partition: Annotated[Int32 | None, "The partition. The default is all partitions."] = None,
    isolation: fields.IsolationLevel = "read_uncommitted",
    since_ms: Annotated[Int64 | None, "Skip records with an older timestamp."] = None,
    since: Since = None,
    timeout: fields.Timeout = None,
    encoding: OutputEncoding = "auto",
) -> Json:
    """Wait until records match, and return the first of them.

    Records that are in the topic already count, unless `since_ms` or `since` excludes them. The topic need not exist
    yet. If the wait times out, the error message shows the records that did arrive, the closest match first.
    """
    if since_ms is not None and since is not None:
        raise ValueError("since_ms and since exclude each other; give one of them")
    found = call.cluster.topic(name).wait_for(
        n,
        _where(value_contains, header),
        ANY if key is None else read_data(key, key_encoding, "key"),
        ANY if value is None else read_data(value, value_encoding, "value"),
        timeout,
        isolation=isolation,
        since=since_ms if since is None else read_mark(since, name),
        partition=partition,
    )
    return {"records": [record_json(record, encoding) for record in found]}


def _where(contained: str | None, header: Json | None) -> Callable[[Record], bool] | None:
    """Return the predicate for a wait, or None. The `__name__` of the predicate describes its condition."""
    if contained is None and header is None:
        return None
    text = encoded("value_contains", contained)
    pair = None if header is None else read_headers([header])[0]

    def where(record: Record) -> bool:
        return (text is None or text in (record.value or b"")) and (pair is None or pair in record.headers.pairs)

    contains = [] if text is None else [f"the value contains {text!r}"]
    where.__name__ = " and ".join(
        [*contains, *([] if pair is None else [f"the headers contain {pair[0]}={pair[1]!r}"])]
    )
    return where
