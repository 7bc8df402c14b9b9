"""Measure what the broker does for one request of each small API, without the network.

    python -m benchmarks.handlers [--seconds 1.0] [names]

Frames go straight to the router, in the thread of the broker, and the responses are discarded. Each row shows the
microseconds per request in the best of many short slices, so that other load on the machine has little effect. `names`
are names of rows, or beginnings of names.
"""

import argparse
import socket
import time
from collections.abc import Callable
from typing import Any

import kafkalet
from kafkalet.broker.context import Context
from kafkalet.broker.network.router import Router
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type

from .load import ask, fetch_request, frame

TOPIC = "bench"
PARTITIONS = 50
GROUP = "bench"
SLICE_S = 0.002
"""Handlers yield after 5 ms."""
SERVER_THREAD_S = 0.1
"""How long the slices may keep the broker from its other tasks."""


class NoClient:
    """A client without a connection."""

    is_closed = False
    when_closed: Callable[[], object] | None = None

    def close(self, reason: str) -> None:
        raise SystemExit(f"the broker closed the connection: {reason}")

    def mute(self, ms: float) -> None:
        raise SystemExit("the broker muted the client")


class Requests:
    """The frames to measure."""

    def __init__(self, broker: kafkalet.Broker) -> None:
        host, port = broker.bootstrap_servers.split(":")
        self.sock = socket.create_connection((host, int(port)))
        self.member_id, self.generation = self._join()

    def _join(self) -> tuple[str, int]:
        """Create a group with one member that owns no partition."""
        join = request_type(Api.JOIN_GROUP)
        sync = request_type(Api.SYNC_GROUP)
        find = request_type(Api.FIND_COORDINATOR)
        assert ask(self.sock, find(key=GROUP, key_type=0), Api.FIND_COORDINATOR, 2).error_code == 0
        protocol = join.Protocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")  # type: ignore[attr-defined]
        joined = ask(
            self.sock,
            join(
                group_id=GROUP + "-members",
                session_timeout_ms=600_000,
                rebalance_timeout_ms=600_000,
                member_id="",
                protocol_type="consumer",
                protocols=[protocol],
            ),
            Api.JOIN_GROUP,
            3,
        )
        member_id, generation = joined.member_id, joined.generation_id
        assignment = sync.Assignment(member_id=member_id, assignment=b"")  # type: ignore[attr-defined]
        synced = sync(
            group_id=GROUP + "-members", generation_id=generation, member_id=member_id, assignments=[assignment]
        )
        assert ask(self.sock, synced, Api.SYNC_GROUP, 3).error_code == 0
        return member_id, generation

    def rows(self) -> dict[str, bytes]:
        """Return the frames by name, without their size fields."""
        return {name: each()[4:] for name, each in self._rows().items()}

    def _rows(self) -> dict[str, Callable[[], bytes]]:
        return {
            "ApiVersions": self._api_versions,
            "Metadata of all topics": lambda: self._metadata(None, 12),
            "Metadata of 1 topic": lambda: self._metadata([TOPIC + "-small"], 12),
            f"Metadata of {PARTITIONS} partitions": lambda: self._metadata([TOPIC], 12),
            "Metadata of 1 topic, v1": lambda: self._metadata([TOPIC + "-small"], 1),
            "ListOffsets": lambda: self._list_offsets(1, 7),
            "ListOffsets, v4": lambda: self._list_offsets(1, 4),
            f"ListOffsets of {PARTITIONS} partitions": lambda: self._list_offsets(PARTITIONS, 7),
            "Fetch of nothing": lambda: frame(fetch_request(0, 0, TOPIC), Api.FETCH, 11),
            "FindCoordinator": lambda: self._frame(Api.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[GROUP]),
            "FindCoordinator, v2": lambda: self._frame(Api.FIND_COORDINATOR, 2, key=GROUP, key_type=0),
            "OffsetCommit": lambda: self._commit(1, 8),
            "OffsetCommit, v2": lambda: self._commit(1, 2),
            f"OffsetCommit of {PARTITIONS} partitions": lambda: self._commit(PARTITIONS, 8),
            "OffsetFetch": lambda: self._offsets(1, 8),
            "OffsetFetch, v5": lambda: self._offsets(1, 5),
            f"OffsetFetch of {PARTITIONS} partitions": lambda: self._offsets(PARTITIONS, 8),
            "Heartbeat": lambda: self._frame(
                Api.HEARTBEAT,
                4,
                group_id=GROUP + "-members",
                generation_id=self.generation,
                member_id=self.member_id,
            ),
            "OffsetForLeaderEpoch": self._epoch,
            "DescribeGroups": lambda: self._frame(Api.DESCRIBE_GROUPS, 5, groups=[GROUP + "-members"]),
            "InitProducerId": lambda: self._frame(
                Api.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=60_000
            ),
        }

    def _frame(self, api: Api, version: int, **fields: Any) -> bytes:
        return frame(request_type(api)(**fields), api, version)

    def _api_versions(self) -> bytes:
        return self._frame(
            Api.API_VERSIONS, 3, client_software_name="apache-kafka-java", client_software_version="3.9.0"
        )

    def _metadata(self, names: list[str] | None, version: int) -> bytes:
        types: Any = request_type(Api.METADATA)
        topics = None if names is None else [types.Topic(name=name) for name in names]
        return self._frame(Api.METADATA, version, topics=topics)

    def _list_offsets(self, partitions: int, version: int) -> bytes:
        types: Any = request_type(Api.LIST_OFFSETS)
        each = [types.Topic.Partition(partition_index=index, timestamp=-1) for index in range(partitions)]
        return self._frame(Api.LIST_OFFSETS, version, replica_id=-1, topics=[types.Topic(name=TOPIC, partitions=each)])

    def _commit(self, partitions: int, version: int) -> bytes:
        types: Any = request_type(Api.OFFSET_COMMIT)
        each = [
            types.Topic.Partition(partition_index=index, committed_offset=4711, committed_metadata="")
            for index in range(partitions)
        ]
        return self._frame(
            Api.OFFSET_COMMIT, version, group_id=GROUP, topics=[types.Topic(name=TOPIC, partitions=each)]
        )

    def _offsets(self, partitions: int, version: int) -> bytes:
        types: Any = request_type(Api.OFFSET_FETCH)
        indexes = list(range(partitions))
        if version < 8:
            topic = types.Topic(name=TOPIC, partition_indexes=indexes)
            return self._frame(Api.OFFSET_FETCH, version, group_id=GROUP, topics=[topic])
        group = types.Group(group_id=GROUP, topics=[types.Group.Topic(name=TOPIC, partition_indexes=indexes)])
        return self._frame(Api.OFFSET_FETCH, version, groups=[group])

    def _epoch(self) -> bytes:
        types: Any = request_type(Api.OFFSET_FOR_LEADER_EPOCH)
        partition = types.Topic.Partition(partition=0, leader_epoch=0)
        return self._frame(Api.OFFSET_FOR_LEADER_EPOCH, 4, topics=[types.Topic(topic=TOPIC, partitions=[partition])])


def best(router: Router, context: Context, request: bytes, times: int) -> float:
    """Return the seconds per request of the best of the slices that fit into SERVER_THREAD_S."""
    route, begin_turn, found = router.route, router.broker.node.turns.begin, float("inf")
    until = time.perf_counter() + SERVER_THREAD_S
    while time.perf_counter() < until:
        begin_turn()
        begun = time.perf_counter()
        for _ in range(times):
            out: list[Any] = []
            size = route(request, context, out)
        took = time.perf_counter() - begun
        if isinstance(size, int):  # else the slice was interrupted for so long that the handler yielded
            found = min(found, took)
    return found / times


def measure(broker: kafkalet.Broker, request: bytes, seconds: float) -> float:
    """Return the microseconds per request."""
    served = broker._server.brokers[1]
    router = served.router
    context = broker._server.call(lambda: router.context(NoClient(), ("127.0.0.1", 1), "PLAINTEXT"))
    once = broker._server.call(lambda: best(router, context, request, 3))
    times = max(3, int(SLICE_S / once))
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        once = min(once, broker._server.call(lambda: best(router, context, request, times)))
    return once * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.handlers", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="per row (default: %(default)s)")
    parser.add_argument("names", nargs="*", help="rows, or beginnings of their names")
    arguments = parser.parse_args()
    with kafkalet.Broker() as broker:
        broker.topic(TOPIC, partitions=PARTITIONS).send("x")
        broker.topic(TOPIC + "-small", partitions=1)
        for name, request in Requests(broker).rows().items():
            if not arguments.names or name.startswith(tuple(arguments.names)):
                print(f"{name:34} {measure(broker, request, arguments.seconds):8.1f} us", flush=True)


if __name__ == "__main__":
    main()
