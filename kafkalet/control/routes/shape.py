"""Routes that shape the log of a partition, and move its leader and replicas."""

from __future__ import annotations

from collections.abc import Callable

from kafkalet.control import fields, state
from kafkalet.control.data import read_base64
from kafkalet.control.route import Call, Handler, Routes
from kafkalet.control.shapes import INT32_MAX, Boolean, Field, Integer, Json, ListOf, Nullable, Object, Shape, Text
from kafkalet.testing.shape import KINDS
from kafkalet.testing.topic import Topic

routes = Routes("shape", "The log of a partition in any shape, its leader and its replicas.")

MAX_SIZE = 100_000
_COUNT = Nullable(Integer(0, MAX_SIZE))
_NODE = Field(
    "node_id", Nullable(Integer(0, INT32_MAX)), "The broker of the replica. The default is all replicas.", None
)
BATCHES = Object(
    "AppendBatches",
    "Entries of a log.",
    Field("data", Text(), "The bytes as base64: batches of format 2, or messages of format 0 or 1."),
)
SHAPE = Object(
    "ShapeLog",
    "A layout of a log.",
    Field("kind", Text(*KINDS), "The layout; the page on the test kit lists them."),
    Field("first", _COUNT, "The number of ordinary records before the special part.", None),
    Field("size", Nullable(Integer(1, MAX_SIZE)), "The size of the special part.", None),
    Field("after", _COUNT, "The number of ordinary records after the special part.", None),
)
OFFSET = Object("LogOffset", "An offset.", Field("offset", Integer(0), "The offset."))
HOLD = Object(
    "HoldHighWatermark",
    "Where to hold the high watermark.",
    Field("at", Nullable(Integer(0)), "The offset. The default is the current high watermark.", None),
)
LEADER = Object(
    "MoveLeader",
    "A new leader.",
    Field("node_id", Integer(0, INT32_MAX), "The id of the broker."),
    Field("unclean", Boolean(), "Whether a replica that is not in sync may become the leader and lose records.", False),
)
REPLICA = Object("Replica", "A replica of the partition, or all.", _NODE)
FOLLOWERS = Object(
    "Followers", "Followers.", Field("node_ids", ListOf(Integer(0, INT32_MAX), least=1), "The ids of the brokers.")
)


def _operation(name: str, body: Shape | None = None) -> Callable[[Handler], Handler]:
    """Declare an operation on a partition that responds with its new state."""
    template = f"/v1/topics/{{name}}/partitions/{{partition}}/{name}"
    return routes.post(template, fields.TOPIC, fields.PARTITION, body=body, response=state.PARTITION)


def _topic(call: Call) -> Topic:
    """Return the topic. Raises UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist."""
    server = call.cluster._server
    server.call(lambda: server.metadata.existing_partition(call.path["name"], call.path["partition"]))
    return call.cluster.topic(call.path["name"])


def _partition(call: Call) -> Json:
    server = call.cluster._server
    name, index = call.path["name"], call.path["partition"]
    return server.call(lambda: state.partition(server, name, server.metadata.existing_partition(name, index)))


@_operation("append-batches", BATCHES)
def append_batches(call: Call) -> Json:
    """Append entries exactly as they are: with gaps, control batches, wrong checksums, any offsets and timestamps."""
    _topic(call).append_batches(read_base64(call.body["data"], "data"), call.path["partition"])
    return _partition(call)


@_operation("shape", SHAPE)
def shape_log(call: Call) -> Json:
    """Append ordinary records around a special part, such as a gap of offsets or an aborted transaction."""
    body = call.body
    _topic(call).shape(body["kind"], body["first"], body["size"], body["after"], call.path["partition"])
    return _partition(call)


@_operation("advance-log-start", OFFSET)
def advance_log_start(call: Call) -> Json:
    """Advance the log start offset, as retention or DeleteRecords does."""
    _topic(call).advance_log_start(call.body["offset"], call.path["partition"])
    return _partition(call)


@_operation("truncate", OFFSET)
def truncate_log(call: Call) -> Json:
    """Remove the records at and after an offset, as if a replica that lacked them had been elected leader."""
    _topic(call).truncate(call.body["offset"], call.path["partition"])
    return _partition(call)


@_operation("hold-high-watermark", HOLD)
def hold_high_watermark(call: Call) -> Json:
    """Keep the high watermark from advancing. Consumers do not see later records."""
    _topic(call).hold_high_watermark(call.body["at"], call.path["partition"])
    return _partition(call)


@_operation("release-high-watermark")
def release_high_watermark(call: Call) -> Json:
    """Let the high watermark advance again. If it is not held, nothing changes."""
    _topic(call).release_high_watermark(call.path["partition"])
    return _partition(call)


@_operation("leader", LEADER)
def move_leader(call: Call) -> Json:
    """Make a broker the leader of a partition, in a new leader epoch."""
    _topic(call).move_leader(call.body["node_id"], call.path["partition"], unclean=call.body["unclean"])
    return _partition(call)


@_operation("new-leader-epoch")
def start_leader_epoch(call: Call) -> Json:
    """Start a new leader epoch with the same leader."""
    _topic(call).new_leader_epoch(call.path["partition"])
    return _partition(call)


@_operation("take-offline", REPLICA)
def take_offline(call: Call) -> Json:
    """Take replicas of a partition offline, as if their disk had failed."""
    _topic(call).take_offline(call.path["partition"], call.body["node_id"])
    return _partition(call)


@_operation("bring-online", REPLICA)
def bring_online(call: Call) -> Json:
    """Bring replicas that were taken offline back."""
    _topic(call).bring_online(call.path["partition"], call.body["node_id"])
    return _partition(call)


@_operation("shrink-isr", FOLLOWERS)
def shrink_isr(call: Call) -> Json:
    """Remove followers from the in-sync replicas, and hold them back so that they stay out."""
    _topic(call).shrink_isr(*call.body["node_ids"], partition=call.path["partition"])
    return _partition(call)


@_operation("expand-isr")
def expand_isr(call: Call) -> Json:
    """Let the followers that are held back catch up and join the in-sync replicas again."""
    _topic(call).expand_isr(call.path["partition"])
    return _partition(call)
