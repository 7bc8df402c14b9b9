"""Routes that run the log cleaner, retention and the remote log manager now."""

from typing import Annotated

from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Object, Text

routes = Routes("cleaner", "The log cleaner, retention and tiered storage, which otherwise run in the background.")

_REPLICA = (
    Field("topic", Text(), "The topic."),
    Field("partition", Integer(0, INT32_MAX), "The partition."),
    Field("broker", Integer(0, INT32_MAX), "The broker with the replica."),
)
CLEANED = Object(
    "CleanedPartition",
    "What the log cleaner did to one replica.",
    *_REPLICA,
    Field("first_dirty_offset", Integer(0), "The first offset that had not been cleaned before."),
    Field("end_offset", Integer(0), "The first offset that has not been cleaned yet."),
    Field("bytes_before", Integer(0), "The size of the segments below `end_offset` before they were cleaned."),
    Field("bytes_after", Integer(0), "Their size now."),
    Field("records_before", Integer(0), "The number of records in them before, including transaction markers."),
    Field("records_after", Integer(0), "The number of records in them now."),
)
RETAINED = Object(
    "RetainedPartition",
    "What retention did to one replica.",
    *_REPLICA,
    Field("deleted_segments", Integer(1), "The number of segments that were deleted."),
    Field("log_start_offset", Integer(0), "The log start offset now."),
)
TIERED = Object(
    "TieredPartition",
    "What the remote log manager did to one partition.",
    *_REPLICA[:2],
    Field("broker", Integer(0, INT32_MAX), "The leader."),
    Field("copied_segments", Integer(0), "The number of segments that were copied to remote storage."),
    Field("deleted_segments", Integer(0), "The number of segments that were deleted there."),
    Field("log_start_offset", Integer(0), "The log start offset now."),
    Field("remote_end_offset", Integer(0), "The offset after the last one that has been copied."),
)
CLEANER_RESULT = Object(
    "CleanerResult", "The replicas that were cleaned.", Field("cleaned", ListOf(CLEANED), "In the order of cleaning.")
)
RETENTION_RESULT = Object(
    "RetentionResult",
    "The replicas whose segments were deleted.",
    Field("retained", ListOf(RETAINED), "The replicas."),
)

TIERING_RESULT = Object(
    "TieringResult",
    "The partitions whose remote segments have changed.",
    Field("tiered", ListOf(TIERED), "The partitions."),
)


@routes.post("/v1/cleaner/run", "What to clean.", response=CLEANER_RESULT, waits=True)
def run_cleaner(
    call: Call,
    roll: Annotated[
        bool, "Whether to roll the active segments of compacted topics first. The active segment is never compacted."
    ] = False,
) -> Json:
    """Compact all logs that are due, by Kafka's rules and the clock of the brokers."""
    return {"cleaned": [CLEANED.of(each) for each in call.cluster.run_cleaner(roll=roll)]}


@routes.post("/v1/retention/run", response=RETENTION_RESULT)
def run_retention(call: Call) -> Json:
    """Delete all expired segments, by the clock of the brokers."""
    return {"retained": [RETAINED.of(each) for each in call.cluster.run_retention()]}


@routes.post("/v1/tiering/run", response=TIERING_RESULT, waits=True)
def run_tiering(call: Call) -> Json:
    """Copy all segments that are due to remote storage, and delete those that have expired there."""
    return {"tiered": [TIERED.of(each) for each in call.cluster.run_tiering()]}
