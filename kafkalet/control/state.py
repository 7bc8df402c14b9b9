"""The state of the brokers as JSON. Functions run in the brokers' event loop unless their docstring says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafkalet.broker.cluster.leadership import PEERS, Peer
from kafkalet.formats import uuid_text
from kafkalet.protocol.errors import KafkaError

from .shapes import INT32_MAX, Boolean, Field, Integer, Json, ListOf, MapOf, Nullable, Object, Text, shape_of

if TYPE_CHECKING:
    from kafkalet.broker.cluster.metadata import PartitionState
    from kafkalet.broker.server import Server

PARTITIONS_PER_TURN = 200
"""How many partitions are read before the event loop does other work; this takes about a millisecond."""
_OFFSET = Nullable(Integer(0))
_WITHOUT_LEADER = " null while the partition has no leader."

OF_A_LOG = ("log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset", "size_bytes")

BROKER = Object(
    "Broker",
    "A broker of the cluster.",
    Field("node_id", Integer(0, INT32_MAX), "The id of the broker."),
    Field("is_running", Boolean(), "Whether the broker accepts requests."),
    Field("is_paused", Boolean(), "Whether the broker is suspended, and its requests wait."),
    Field("cut_off_from", ListOf(shape_of(Peer)), "What the broker does not reach."),
    Field("host", Nullable(Text()), "The host that the broker advertises, or null while it is stopped."),
    Field("port", Nullable(Integer(0, 65535)), "The port that the broker advertises, or null while it is stopped."),
    Field("rack", Nullable(Text()), "The rack of the broker, or null."),
    Field("listeners", MapOf(Text()), "The advertised address of each listener, or empty."),
)
PARTITION = Object(
    "Partition",
    "A partition of a topic and the log of its leader.",
    Field("partition", Integer(0, INT32_MAX), "The index of the partition."),
    Field("leader", Nullable(Integer(0, INT32_MAX)), "The id of the leader, or null if the partition has none."),
    Field("leader_epoch", Integer(0, INT32_MAX), "The epoch of the leader."),
    Field("replicas", ListOf(Integer(0, INT32_MAX)), "The ids of the brokers with a replica."),
    Field("isr", ListOf(Integer(0, INT32_MAX)), "The ids of the brokers whose replica is in sync."),
    Field(
        "offline_replicas",
        ListOf(Integer(0, INT32_MAX)),
        "The ids of brokers with a replica that is offline: the broker is stopped, or the replica's log is offline.",
    ),
    Field("log_start_offset", _OFFSET, f"The first offset that can be read.{_WITHOUT_LEADER}"),
    Field("last_stable_offset", _OFFSET, f"The first offset that read_committed cannot read.{_WITHOUT_LEADER}"),
    Field("high_watermark", _OFFSET, f"The first offset that consumers cannot read.{_WITHOUT_LEADER}"),
    Field("log_end_offset", _OFFSET, f"The offset of the next record.{_WITHOUT_LEADER}"),
    Field("size_bytes", _OFFSET, f"The size of the log.{_WITHOUT_LEADER}"),
)
TOPIC = Object(
    "Topic",
    "A topic and its partitions.",
    Field("name", Text(), "The name."),
    Field("topic_id", Text(), "The id, as in Kafka's tools."),
    Field("is_internal", Boolean(), "Whether the topic belongs to the brokers, like `__consumer_offsets`."),
    Field("config", MapOf(Text()), "The properties that are set for the topic."),
    Field("partitions", ListOf(PARTITION), "The partitions, by index."),
)


def read_topics(server: Server, names: Iterable[str] | None = None, *, internal: bool = True) -> list[Json]:
    """Return topics by name, by default all. Topics that do not exist are left out.

    Each turn of the event loop reads PARTITIONS_PER_TURN partitions. May be called from any thread but that of the
    loop.
    """
    reading = _reading(server, names, internal=internal)
    found: list[Json] = []
    while (part := server.call(lambda: next(reading, None))) is not None:
        found += part
    return sorted(found, key=lambda topic: str(topic["name"]))


def _reading(server: Server, names: Iterable[str] | None, *, internal: bool) -> Iterator[list[Json]]:
    """Yield topics in parts. Each part is read in one turn of the event loop."""
    part: list[Json] = []
    left = PARTITIONS_PER_TURN
    for name in list(server.metadata.topics if names is None else names):
        state = server.metadata.topics.get(name)
        if state is None or (state.is_internal and not internal):
            continue
        partitions: list[Json] = []
        part.append(
            {
                "name": name,
                "topic_id": uuid_text(state.topic_id),
                "is_internal": state.is_internal,
                "config": dict(state.config),
                "partitions": partitions,
            }
        )
        for each in list(state.partitions):
            partitions.append(partition(server, name, each))
            left -= 1
            if not left:
                yield part
                part, left = [], PARTITIONS_PER_TURN
    yield part


def partition(server: Server, name: str, state: PartitionState) -> Json:
    try:
        log = server.leadership.leader_of(name, state.index).log
    except KafkaError:
        log = None
    return {
        "partition": state.index,
        "leader": None if state.leader < 0 else state.leader,
        "leader_epoch": state.leader_epoch,
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "offline_replicas": server.leadership.offline_replicas(name, state),
        **{name: None if log is None else getattr(log, name) for name in OF_A_LOG},
    }


def brokers(server: Server) -> list[Json]:
    """Return the brokers, by id. May be called from any thread."""
    return server.call(lambda: _brokers(server))


def _brokers(server: Server) -> list[Json]:
    names = list(server.addresses_of_listeners())
    found = []
    for node_id in server.node_ids:
        endpoint = server.nodes[node_id].endpoint if node_id in server.nodes else None
        found.append(
            {
                "node_id": node_id,
                "is_running": node_id in server.nodes,
                "is_paused": server.leadership.cut_off.get(node_id) == PEERS,
                "cut_off_from": sorted(server.leadership.cut_off.get(node_id, ())),
                "host": None if endpoint is None else endpoint.host,
                "port": None if endpoint is None else endpoint.port,
                "rack": None if endpoint is None else endpoint.rack,
                "listeners": {
                    name: f"[{at.host}]:{at.port}" if ":" in at.host else f"{at.host}:{at.port}"
                    for name in names
                    if endpoint is not None and (at := endpoint.at(name)) is not None
                },
            }
        )
    return found
