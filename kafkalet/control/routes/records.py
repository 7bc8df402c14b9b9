"""Routes of records: send them, read them, and wait for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafkalet.control import fields
from kafkalet.control.data import (
    HEADER,
    OUTPUT_ENCODING,
    RECORD,
    SINCE,
    key_fields,
    read_data,
    read_mark,
    record_json,
)
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
from kafkalet.testing.record import encoded
from kafkalet.testing.topic import Outgoing

if TYPE_CHECKING:
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
WAIT = Object(
    "WaitForRecords",
    "What to wait for. Records match if they meet all conditions.",
    Field("n", Integer(1, MAX_RECORDS), "The number of records.", 1),
    *key_fields(" of the records. null matches any"),
    Field("value_contains", Nullable(Text()), "A text that the values contain, as UTF-8.", None),
    Field("header", Nullable(HEADER), "A header of the records.", None),
    Field("partition", Nullable(Integer(0, INT32_MAX)), "The partition. The default is all partitions.", None),
    Field("isolation", fields.ISOLATION.shape, fields.ISOLATION.description, "read_uncommitted"),
    Field("since_ms", Nullable(Integer(0)), "Skip records with an older timestamp.", None),
    SINCE,
    fields.TIMEOUT,
    OUTPUT_ENCODING,
)


# Send


@routes.post(
    "/v1/topics/{name}/records",
    fields.TOPIC,
    body=AnyOf([NEW_RECORD, NEW_RECORDS], lambda body: int(isinstance(body, dict) and "records" in body)),
    response=SENT_RECORDS,
    max_body_bytes=MAX_RECORDS_BYTES,
)
def send_records(call: Call) -> Json:
    """Append records as if a producer had sent them with acks=all: a single one, or several in `records`.

    A topic that does not exist is created with the defaults of the brokers. If a partition refuses its records,
    nothing is appended.
    """
    rows: Sequence[Mapping[str, Json]] = call.body.get("records") or [call.body]
    records = [
        Outgoing(
            read_data(row, "key"),
            read_data(row, "value"),
            tuple((each["name"], read_data(each, "value")) for each in row["headers"] or ()),
            row["timestamp"],
            row["partition"],
        )
        for row in rows
    ]
    codec = Codec[call.body.get("compression", "none").upper()]
    sent = call.cluster.topic(call.path["name"])._send(records, codec)
    return {"records": [{"partition": partition, "offset": offset} for partition, offset in sent]}


# Read


@routes.get(
    "/v1/topics/{name}/records",
    fields.TOPIC,
    Field("partition", Nullable(Integer(0, INT32_MAX)), "The partition. The default is all partitions.", None),
    Field("offset", Nullable(Integer(0)), "The first offset to read. The default is the log start offset.", None),
    Field(
        "time_ms",
        Nullable(Integer(0)),
        "Start at the first record with this timestamp or a later one, as in ListOffsets.",
        None,
    ),
    Field("last", Nullable(Integer(1, MAX_RECORDS)), "Start this many offsets before the end.", None),
    SINCE,
    Field("limit", Integer(1, MAX_RECORDS), "The largest number of records of each partition.", 100),
    fields.ISOLATION,
    OUTPUT_ENCODING,
    response=RECORDS,
)
def read_records(call: Call) -> Json:
    """Return records that a consumer can receive now.

    At most one of `offset`, `time_ms`, `last` and `since` may be given. If a partition has no leader, its records are
    unknown, and the request fails.
    """
    query = call.query
    if sum(query[name] is not None for name in ("offset", "time_ms", "last", "since")) > 1:
        raise ValueError("offset, time_ms, last and since exclude each other; give one of them")
    server = call.cluster._server
    name = call.path["name"]
    count = server.call(lambda: len(server.metadata.existing_topic(name).partitions))
    if query["partition"] is not None:
        server.call(lambda: server.metadata.existing_partition(name, query["partition"]))
    mark = read_mark(query["since"], name)
    records: list[Record] = []
    next_offsets: dict[int, int] = {}
    has_more = False
    size = 0
    for index in range(count) if query["partition"] is None else [query["partition"]]:
        isolation = checked_isolation(query["isolation"])
        start = _start(call, index) if mark is None else call.cluster.topic(name)._after(mark, index)
        reader = PartitionReader(call.cluster, name, index, isolation, start)
        found: list[Record] = []
        for record in reader.read():
            if len(found) == query["limit"] or ((records or found) and size > MAX_RESPONSE_BYTES):
                has_more = True
                next_offsets[index] = record.offset
                break
            size += len(record.key or b"") + len(record.value or b"")
            found.append(record)
        next_offsets.setdefault(index, reader.offset)
        records += found
    return {
        "records": [record_json(record, query["encoding"]) for record in records],
        "next_offsets": next_offsets,
        "has_more": has_more,
    }


def _start(call: Call, index: int) -> int:
    """Return the first offset to read in a partition."""
    server = call.cluster._server
    time_ms, last = call.query["time_ms"], call.query["last"]
    isolation = checked_isolation(call.query["isolation"])

    def look() -> int:
        leader = server.leadership.leader_of(call.path["name"], index)
        end = isolation.bound(leader.log)
        if last is not None:
            return max(0, end - int(last))
        found = finish(leader.offset_for(time_ms, isolation, None, only_leader=True))
        return end if found is None else found.offset

    return call.query["offset"] or 0 if time_ms is None and last is None else server.call(look)


# Wait


@routes.post("/v1/topics/{name}/wait", fields.TOPIC, body=WAIT, response=FOUND, waits=True)
def wait_for_records(call: Call) -> Json:
    """Wait until records match, and return the first of them.

    Records that are in the topic already count, unless `since_ms` or `since` excludes them. The topic need not exist
    yet. If the wait times out, the error message shows the records that did arrive, the closest match first.
    """
    body = call.body
    if body["since_ms"] is not None and body["since"] is not None:
        raise ValueError("since_ms and since exclude each other; give one of them")
    name = call.path["name"]
    found = call.cluster.topic(name).wait_for(
        body["n"],
        _where(body),
        read_data(body, "key"),
        read_data(body, "value"),
        body["timeout_s"],
        isolation=body["isolation"],
        since=body["since_ms"] if body["since"] is None else read_mark(body["since"], name),
        partition=body["partition"],
    )
    return {"records": [record_json(record, body["encoding"]) for record in found]}


def _where(body: Mapping[str, Json]) -> Callable[[Record], bool] | None:
    """Return the predicate of a wait, whose name describes it, or None."""
    text, header = encoded("value_contains", body["value_contains"]), body["header"]
    if text is None and header is None:
        return None
    value = None if header is None else read_data(header, "value")

    def where(record: Record) -> bool:
        return (text is None or text in (record.value or b"")) and (
            header is None or (header["name"], value) in record.headers.pairs
        )

    contains = [] if text is None else [f"the value contains {text!r}"]
    where.__name__ = " and ".join(
        [*contains, *([] if header is None else [f"the headers contain {header['name']}={value!r}"])]
    )
    return where
