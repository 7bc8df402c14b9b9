"""The lag of a group: the records left to process, according to the logs and the committed offsets.

If the log ends with a transaction marker, the high watermark minus the committed offset may be above 0 although the
consumer has processed everything, because some clients (librdkafka) commit the offset after the last record that they
returned. Therefore, the lag is 0 if no record is left that the consumer can read.

A consumer that starts at the end of the log commits nothing until a record arrives. Its records start at the offset
that its client looked up at the start (ListOffsets). Clients are identified by their client ids, so two consumers with
the same client id and different `auto.offset.reset` are treated as one that starts at the beginning.

All functions run in the event loop of the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.values import Isolation

from .reading import PartitionReader

if TYPE_CHECKING:
    from kafkalet.broker.context import Context
    from kafkalet.embedded import EmbeddedCluster

Place = tuple[str, int]
"""A topic and a partition."""


class PartitionLag(NamedTuple):
    """The lag of a group in one partition."""

    topic: str
    partition: int
    committed: int | None
    """The committed offset, or None if there is none."""
    start: int
    """The first offset that counts: the committed offset, or the one at which the consumer started."""
    end: int
    """The high watermark, or the last stable offset if the consumer reads with read_committed."""
    lag: int
    is_current: bool
    """Whether a member subscribes to the topic or is assigned the partition."""

    def __str__(self) -> str:
        commit = "nothing committed" if self.committed is None else f"committed {self.committed}"
        started = f", started at {self.start}" if self.committed is None and self.start else ""
        return f"{self.topic}-{self.partition}: {commit}{started}, end {self.end}, lag {self.lag}"


class UnknownLag(NamedTuple):
    """A partition in which the lag of a group is unknown, because the partition has no leader."""

    topic: str
    partition: int
    is_current: bool
    """As in `PartitionLag`."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: no leader, so the lag is unknown"


def group_lag(
    cluster: EmbeddedCluster,
    committed: Mapping[Place, int],
    subscribed: Collection[Place],
    assigned: Mapping[Place, str],
) -> tuple[list[PartitionLag], list[UnknownLag]]:
    """Return the lag in each partition, sorted, and the partitions in which it is unknown.

    `assigned` maps the assigned partitions to client ids.
    """
    found: list[PartitionLag] = []
    unknown: list[UnknownLag] = []
    places = sorted({*committed, *subscribed, *assigned})
    if not places:
        return found, unknown
    contexts = _contexts_by_client_id(cluster)
    for place in places:
        contexts_of_member = contexts.get(assigned.get(place, ""), [])
        is_current = place in subscribed or place in assigned
        try:
            lag = _partition_lag(cluster, place, committed.get(place), contexts_of_member, is_current=is_current)
            found.append(lag)
        except KafkaError as error:
            if error.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:
                unknown.append(UnknownLag(*place, is_current))
    return found, unknown


def _partition_lag(
    cluster: EmbeddedCluster, place: Place, committed: int | None, contexts: list[Context], *, is_current: bool
) -> PartitionLag:
    """Return the lag in a partition. Raises KafkaError if the partition does not exist or has no leader."""
    log = cluster._server.leadership.leader_of(*place).log
    reads_committed = any(context.reads_committed for context in contexts)
    isolation = Isolation.LAST_STABLE if reads_committed else Isolation.HIGH_WATERMARK
    end = isolation.bound(log)
    start = _start(place, contexts, log.log_end_offset) if committed is None else committed
    start = max(start, log.log_start_offset)
    lag = max(0, end - start)
    if lag and PartitionReader(cluster, *place, isolation, start).is_at_end():
        lag = 0
    return PartitionLag(*place, committed, start, end, lag, is_current)


def _start(place: Place, contexts: list[Context], log_end_offset: int) -> int:
    """Return the offset at which a consumer without a committed offset started, or 0 if it is unknown.

    An offset beyond the end is ignored: it was looked up before the topic was deleted and created again.
    """
    found = [known[place] for context in contexts if (known := context.looked_up_offsets) and place in known]
    return min((offset for offset in found if offset <= log_end_offset), default=0)


def _contexts_by_client_id(cluster: EmbeddedCluster) -> dict[str, list[Context]]:
    """Return the contexts of all connections of clients, by client id."""
    found: dict[str, list[Context]] = {}
    for broker in cluster._server.brokers.values():
        for connection in broker.connections:
            if connection.context is not None:
                found.setdefault(connection.context.client_id, []).append(connection.context)
    return found
