"""Routes that change the layout of a log, its offsets, its leader and its replicas.

`POST X/release` undoes what `POST X` has changed, as `release` does in the test kit.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated

from kafkalet.control import state
from kafkalet.control.data import read_base64
from kafkalet.control.fields import Int32, Int64, Name, Partition
from kafkalet.control.route import Call, Handler, Routes
from kafkalet.control.shapes import INT32_MAX, Integer, Json, ListOf
from kafkalet.testing.layout import LayoutKind
from kafkalet.testing.topic import Topic

from .topics import get_partition

routes = Routes("layout", "The layout of a log, its offsets, its leader and its replicas.")

MAX_SIZE = 100_000
Count = Annotated[int | None, Integer(0, MAX_SIZE)]
Replica = Annotated[Int32 | None, "The broker of the replica. The default is all replicas."]


def _operation(action: str, body: str | None = None, *, name: str = "") -> Callable[[Handler], Handler]:
    """Declare an operation on a partition that responds with its new state.

    The function has the topic and the partition instead of the call. UNKNOWN_TOPIC_OR_PARTITION is raised if the
    partition does not exist.
    """

    template = f"/v1/topics/{{name}}/partitions/{{partition}}/{action}"

    def declare(function: Handler) -> Handler:
        @wraps(function)
        def handler(call: Call, name: str, partition: int, **more: Json) -> Json:
            server = call.cluster._server
            server.call(lambda: server.metadata.existing_partition(name, partition))
            function(call.cluster.topic(name), partition, **more)
            return get_partition(call, name, partition)

        first, *others = signature(handler).parameters.values()
        handler.__signature__ = Signature([first, Parameter("name", first.kind), *others])  # type: ignore[attr-defined]
        handler.__annotations__ = {**function.__annotations__, "name": Name}
        return routes.post(template, body, name=name, response=state.PARTITION)(handler)

    return declare


@_operation("append-batches", "Entries of a log.")
def append_batches(
    topic: Topic,
    partition: Partition,
    data: Annotated[str, "The bytes as base64: batches of format 2, or messages of format 0 or 1."],
) -> None:
    """Append entries exactly as they are: with gaps, control batches, wrong checksums, any offsets and timestamps."""
    topic.append_batches(read_base64(data, "data"), partition)


@_operation("layout", "A layout of a log.")
def append_layout(
    topic: Topic,
    partition: Partition,
    kind: Annotated[LayoutKind, "The layout; the page on the test kit lists them."],
    first: Annotated[Count, "The number of ordinary records before the special part."] = None,
    size: Annotated[int | None, Integer(1, MAX_SIZE), "The size of the special part."] = None,
    after: Annotated[Count, "The number of ordinary records after the special part."] = None,
) -> None:
    """Append ordinary records around a special part, such as a gap of offsets or an aborted transaction."""
    topic.layout(kind, first, size, after, partition)


@_operation("delete-records", "The records to delete.")
def delete_records(topic: Topic, partition: Partition, before: Annotated[Int64, "The new log start offset."]) -> None:
    """Delete the records before an offset, as retention or DeleteRecords does."""
    topic.delete_records(before, partition)


@_operation("truncate", "The records to remove.")
def truncate_log(topic: Topic, partition: Partition, to: Annotated[Int64, "The new log end offset."]) -> None:
    """Remove the records at and after an offset, as if a replica that lacked them had been elected leader."""
    topic.truncate(to, partition)


@_operation("hold-high-watermark", "Where to hold the high watermark.")
def hold_high_watermark(
    topic: Topic,
    partition: Partition,
    at: Annotated[Int64 | None, "The offset. The default is the current high watermark."] = None,
) -> None:
    """Keep the high watermark from advancing, so that consumers do not see later records."""
    topic.hold_high_watermark(at, partition)


@_operation("hold-high-watermark/release")
def release_high_watermark(topic: Topic, partition: Partition) -> None:
    """Let the high watermark advance again. If it is not held, nothing changes."""
    topic._change(partition, lambda: topic._release_high_watermark(partition))


@_operation("move-leader", "A new leader.")
def move_leader(
    topic: Topic,
    partition: Partition,
    to: Annotated[Int32, "The id of the broker."],
    unclean: Annotated[bool, "Whether a replica that is not in sync may become the leader and lose records."] = False,
) -> None:
    """Make a broker the leader of a partition, in a new leader epoch."""
    topic.move_leader(to, partition, unclean=unclean)


@_operation("new-leader-epoch")
def new_leader_epoch(topic: Topic, partition: Partition) -> None:
    """Start a new leader epoch with the same leader."""
    topic.new_leader_epoch(partition)


@_operation("take-offline", "A replica of the partition, or all.", name="Replica")
def take_offline(topic: Topic, partition: Partition, broker: Replica = None) -> None:
    """Take replicas of a partition offline, as if their disk had failed."""
    topic.take_offline(partition, broker)


@_operation("take-offline/release", "A replica of the partition, or all.", name="Replica")
def release_offline_replicas(topic: Topic, partition: Partition, broker: Replica = None) -> None:
    """Bring replicas that were taken offline back."""
    topic._change(partition, lambda: topic._bring_online(partition, broker))


@_operation("shrink-isr", "Followers.")
def shrink_isr(
    topic: Topic,
    partition: Partition,
    brokers: Annotated[list[Int32], ListOf(Integer(0, INT32_MAX), least=1), "The ids of the brokers."],
) -> None:
    """Remove followers from the in-sync replicas, and hold them back so that they stay out."""
    topic.shrink_isr(*brokers, partition=partition)


@_operation("shrink-isr/release")
def release_isr(topic: Topic, partition: Partition) -> None:
    """Let the followers that are held back catch up and join the in-sync replicas again."""
    topic._change(partition, lambda: topic._expand_isr(partition))
