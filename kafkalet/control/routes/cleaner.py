"""Routes that run the log cleaner and retention now."""

from typing import Annotated

from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Object, Text

routes = Routes("cleaner", "The log cleaner and retention, which otherwise run in the background.")

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
CLEANER_RESULT = Object(
    "CleanerResult", "The replicas that were cleaned.", Field("cleaned", ListOf(CLEANED), "In the order of cleaning.")
)
RETENTION_RESULT = Object(
    "RetentionResult",
    "The replicas whose segments were deleted.",
    Field("retained", ListOf(RETAINED), "The replicas."),
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
