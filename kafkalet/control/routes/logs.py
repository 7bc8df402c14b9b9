"""Routes of the logs of partitions: their segments and batches."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from kafkalet.control import fields
from kafkalet.control.fields import Int64
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import Boolean, Field, Integer, Json, ListOf, Nullable, Object, Text
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.control import control_type

if TYPE_CHECKING:
    from kafkalet.protocol.records.batch import Batch
    from kafkalet.storage.log import Log
    from kafkalet.storage.segment import Segment

routes = Routes("logs", "The logs of partitions: segments and batches.")

SEGMENT = Object(
    "Segment",
    "A segment of a log.",
    Field("base_offset", Integer(0), "The first offset of the segment."),
    Field("size_bytes", Integer(0), "The size of the segment."),
    Field("largest_timestamp", Integer(), "The largest timestamp, or -1 if no record has one."),
)
SEGMENTS = Object("Segments", "The segments of a log.", Field("segments", ListOf(SEGMENT), "From oldest to newest."))
BATCH = Object(
    "Batch",
    "A record batch of a log, or a message of the formats 0 and 1.",
    Field("base_offset", Integer(), "The first offset."),
    Field("last_offset", Integer(), "The last offset."),
    Field(
        "count",
        Integer(-1),
        "The number of records, or -1 for a compressed batch of an old format, whose header does not contain it.",
    ),
    Field("segment", Integer(0), "The base offset of the segment."),
    Field("position", Integer(0), "The position in the file of the segment."),
    Field("size_bytes", Integer(0), "The size."),
    Field("magic", Integer(), "The format: 0, 1 or 2."),
    Field("crc", Integer(), "The checksum that is stored in the batch."),
    Field("compression", Text(), "The compression codec."),
    Field("leader_epoch", Integer(-1), "The epoch of the leader that appended the batch, or -1."),
    Field("timestamp_type", Text("NO_TIMESTAMP_TYPE", "CREATE_TIME", "LOG_APPEND_TIME"), "The source of timestamps."),
    Field("base_timestamp", Integer(), "The timestamp of the first record, or -1."),
    Field("max_timestamp", Integer(), "The largest timestamp, or -1."),
    Field("producer_id", Integer(), "The producer id, or -1."),
    Field("producer_epoch", Integer(), "The producer epoch, or -1."),
    Field("base_sequence", Integer(), "The first sequence number, or -1."),
    Field("is_transactional", Boolean(), "Whether the records belong to a transaction."),
    Field("is_control", Boolean(), "Whether the batch contains a control record instead of records."),
    Field("control_type", Nullable(Text()), "`COMMIT` or `ABORT` for a transaction marker, else null."),
)
BATCHES = Object(
    "Batches",
    "Batches of a log.",
    Field("batches", ListOf(BATCH), "The batches, by offset."),
    Field("next_offset", Nullable(Integer(0)), "The offset of the next request, or null at the end of the log."),
)


@routes.get("/v1/topics/{name}/partitions/{partition}/segments", response=SEGMENTS)
def list_segments(call: Call, name: fields.Name, partition: fields.Partition) -> Json:
    """Return the segments of the leader's log."""
    view = call.cluster.topic(name).log(partition)
    return {"segments": [segment._asdict() for segment in view.segments]}


@routes.get("/v1/topics/{name}/partitions/{partition}/batches", response=BATCHES)
def list_batches(
    call: Call,
    name: fields.Name,
    partition: fields.Partition,
    offset: Annotated[Int64, "The offset at which to start. The first batch contains it or follows it."] = 0,
    limit: Annotated[int, Integer(1, 1000), "The largest number of batches."] = 100,
) -> Json:
    """Return the headers of batches in the leader's log, including those below the log start offset."""
    server = call.cluster._server
    name, index = name, partition

    def look() -> Json:
        return _batches(server.leadership.leader_of(name, index).log, offset, limit)

    return server.call(look)


def _batches(log: Log, offset: int, limit: int) -> Json:
    found: list[Json] = []
    for segment in list(log.segments):
        following = log.segments.higher(segment.base_offset)
        if following is not None and following.base_offset <= offset:
            continue
        located = segment.locate(offset)
        if located is None:
            continue
        for position, head in islice(segment.heads(located.position), limit + 1 - len(found)):
            found.append(_batch(segment, position, head))
        if len(found) > limit:
            return {"batches": found[:limit], "next_offset": found[limit]["base_offset"]}
    return {"batches": found, "next_offset": None}


def _batch(segment: Segment, position: int, head: Batch) -> Json:
    return BATCH.of(
        head,
        segment=segment.base_offset,
        position=position,
        size_bytes=head.size,
        compression=_compression(head),
        timestamp_type=head.timestamp_type.name,
        control_type=_control_type(segment, position, head) if head.is_control and head.count else None,
    )


def _compression(head: Batch) -> str:
    try:
        return head.codec.name.lower()
    except KafkaError:
        return "unknown"


def _control_type(segment: Segment, position: int, head: Batch) -> str | None:
    try:
        return control_type(segment.entry(position, head.size).records()[0]).name
    except KafkaError:
        return "UNKNOWN"
