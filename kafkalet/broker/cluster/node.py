"""One broker of a cluster: a listener, a data directory, and the replicas it holds.

A node knows its own replicas and serves requests about them; what concerns several brokers (who leads, which topics
there are, who follows) the cluster decides.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kafkalet.broker.apis import SERVED
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.connection_overrides import parse_overrides
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import FetchSessions
from kafkalet.broker.network.connection_limits import by_address
from kafkalet.broker.network.listener import Listener
from kafkalet.broker.network.listener_context import Limits
from kafkalet.broker.network.receiving import ReceiveBuffer
from kafkalet.broker.network.router import Router
from kafkalet.broker.quoting import quoted
from kafkalet.broker.scheduling.purgatory import Delayed, Purgatory
from kafkalet.broker.scheduling.turns import Turns
from kafkalet.broker.scheduling.work import Workers
from kafkalet.clock import Clock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.releases import versions_of
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed

from .coordinators import Coordinators
from .metadata import MetadataImage, PartitionState, TopicState

if TYPE_CHECKING:  # a broker starts before it holds a partition, and without what partitions are made of
    from kafkalet.broker.quotas.throttling import Throttling
    from kafkalet.broker.server import Server
    from kafkalet.broker.telemetry import Telemetry

    from .partition import Partition


_LOG = logging.getLogger(__name__)


class Node:
    """A broker. `cluster` is handed through to the handlers and not used here."""

    def __init__(
        self,
        node_id: int,
        cluster: Server,
        metadata: MetadataImage,
        config: BrokerConfig,
        release: Release,
        directory: LogDirectory,
        clock: Clock,
        loop: AbstractEventLoop,
        buffer: ReceiveBuffer,
        turns: Turns,
        workers: Workers,
    ) -> None:
        self.node_id = node_id
        self.cluster = cluster
        self.metadata = metadata
        self.config = config
        self.release = release
        self.directory = directory
        self.clock = clock
        self.api_versions: Mapping[Api, tuple[int, int]] = {
            api: (versions.low, versions.high) for api, versions in versions_of(release.name).items() if api in SERVED
        }
        """The APIs that are served, with their lowest and highest version."""
        self._loop = loop
        self.call_soon = loop.call_soon
        self.turns = turns
        self.workers = workers
        self.purgatory = Purgatory(clock, loop.call_soon, turns.now_s)
        self.coordinators = Coordinators(self)
        slots = config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessions(
            clock,
            slots,
            all_told_go_last=release.moves_every_told_partition,
            takes_nameless=release.takes_nameless_topics_into_sessions,
        )
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.offline: dict[tuple[str, int], str] = {}
        """The replicas whose logs cannot be opened, and why."""
        self.router = Router(self, cluster.unimplemented_calls)
        self.listener = Listener(self.router, clock, Limits(), buffer=buffer, turns=turns)
        self.throttling: Throttling | None = None
        """Who may ask for how much; None while there has been no quota."""
        self._spent_s = loop.time
        self._telemetry: Telemetry | None = None
        self.apply_config()
        self.apply_quotas()

    def apply_config(self) -> None:
        """Take over what the configuration says now about connections."""
        config, limits = self.config, self.listener.limits
        limits.socket_request_max_bytes = config.socket_request_max_bytes
        limits.connections_max_idle_ms = config.connections_max_idle_ms
        limits.max_connections = config.max_connections
        limits.max_connections_per_ip = config.max_connections_per_ip
        overrides = parse_overrides(config.max_connections_per_ip_overrides or "")
        limits.max_connections_per_ip_overrides = by_address(overrides, self._loop)
        given = config.given()
        # Kafka's own default of 100 KiB is for slow networks; where nobody asks for it the system knows better.
        if "socket.send.buffer.bytes" in given:
            limits.socket_send_buffer_bytes = config.socket_send_buffer_bytes
        if "socket.receive.buffer.bytes" in given:
            limits.socket_receive_buffer_bytes = config.socket_receive_buffer_bytes
        self.listener.limits_changed()

    @property
    def telemetry(self) -> Telemetry:
        """The clients that push their metrics, made when the first one asks."""
        if self._telemetry is None:
            from kafkalet.broker.telemetry import Telemetry

            self._telemetry = Telemetry(self.metadata, self.release)
        return self._telemetry

    def apply_quotas(self, addresses: Mapping[str, str | None] | None = None) -> None:
        """Take over the quotas of clients that the metadata holds now. `addresses` are known ones of host names."""
        quotas = self.metadata.client_quotas
        if self.throttling is None and quotas:
            from kafkalet.broker.quotas.hosts import look_up
            from kafkalet.broker.quotas.throttling import Throttling

            def look_up_in_thread(host: str) -> Delayed[str | None]:
                return self.workers.submit(partial(look_up, host))

            self.throttling = Throttling(self.config, self.clock, self._spent_s, look_up_in_thread)
        if self.throttling is not None:
            self.throttling.obey(quotas, addresses or {})
            self.router.throttle = self.throttling if quotas else None
            self.listener.admission = self.throttling.connect if self.throttling.limits_connections else None

    def close(self) -> None:
        """Cut off the clients, write what is not written yet, and close the data directory."""
        self.listener.close()
        self.router.close()
        self.coordinators.close()
        self.directory.close(discard=not self.directory.ground.files.durable)
        self.partitions.clear()
        self.offline.clear()

    def fetch_max_bytes(self, context: Context) -> int:
        """The most that one answer to this client's Fetch may hold."""
        if self.throttling is None:
            return self.config.fetch_max_bytes
        return int(min(self.config.fetch_max_bytes, self.throttling.most_fetch_bytes(context)))

    def partition(self, topic: str, index: int) -> Partition:
        """The replica that this broker holds (ReplicaManager.getPartitionOrError).

        UNKNOWN_TOPIC_OR_PARTITION where there is no such partition, NOT_LEADER_OR_FOLLOWER where others hold it,
        KAFKA_STORAGE_ERROR where its log cannot be opened.
        """
        partition = self.partitions.get((topic, index))
        if partition is not None:
            return partition
        if (reason := self.offline.get((topic, index))) is not None:
            raise StorageFailed(reason)
        if self.metadata.partition(topic, index) is not None:
            raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER, f"broker {self.node_id} holds no replica of {topic}-{index}")
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}")

    def host(
        self, topic: TopicState, state: PartitionState, config: LogConfig, changed: Callable[[Partition], None]
    ) -> Partition:
        """Take a replica in: its log is opened, or made where there is none. Raises StorageFailed."""
        from .partition import Partition

        log = self.directory.get_or_create(topic.name, state.index, topic.topic_id, config)
        if (latest := log.latest_epoch) is not None:  # further than we know, if another broker wrote it
            state.note_leader_epoch(latest)
        partition = Partition(self.node_id, topic, state, log, self.release, changed, self.metadata.endpoints)
        self.partitions[topic.name, state.index] = partition
        return partition

    def drop(self, topic: str, index: int) -> None:
        """Delete a replica and its log; requests that wait for it are answered. A log that cannot be deleted stays on
        the disk, and is not served."""
        held = self.partitions.pop((topic, index), None) is not None
        if self.offline.pop((topic, index), None) is not None or held:
            try:
                self.directory.delete(topic, index)
            except StorageFailed as error:
                _LOG.error("%s is not deleted: %s", quoted(f"{topic}-{index}"), error.reason)
            self.purgatory.touch((topic, index))
