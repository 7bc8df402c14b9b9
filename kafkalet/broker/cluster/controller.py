"""The controller: operations on the whole cluster.

It creates and deletes topics, applies configurations, assigns producer ids and saves the metadata. Its `Leadership`
manages leaders and followers. Its nodes are the running brokers. The part of a broker that serves clients (broker.py)
is the `Observer` of its node and is notified of changes.

Source: org.apache.kafka.controller.QuorumController, ReplicationControlManager.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.broker.watchers import Watchers
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import in_thread, until

from .changes import Change, Changes
from .leadership import Leadership
from .metadata import Endpoint, MetadataImage, PartitionState, TopicState, new_topic_id
from .metadata_store import MetadataStore
from .new_topics import NewTopic, check_name, place_topic
from .node import Node
from .producer_ids import ProducerIds
from .revision import Noting
from .state_topics import SHARE_GROUP_STATE, STATE_TOPICS, StateTopic

if TYPE_CHECKING:  # not loaded when a broker without partitions, ACLs and credentials starts
    from kafkalet.broker.security.acl import Acl
    from kafkalet.broker.security.delegation_tokens import DelegationToken, DelegationTokens
    from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism
    from kafkalet.storage.directory import LogDirectory
    from kafkalet.storage.log import Log
    from kafkalet.storage.remote import Tier

    from .partition import Partition

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

_LOG = logging.getLogger(__name__)

MIN_ISR = "min.insync.replicas"
PARTITIONS_PER_STEP = 500
"""Other requests may run after this many partitions of a new topic have been created."""


class Controller:
    """The metadata of a cluster, its nodes, and the operations that change them.

    `store` saves the metadata; if it is None, the metadata is not saved. `next_producer_id` is the first unused
    producer id. Raises InvalidProperty for an invalid property of delegation tokens.
    """

    def __init__(
        self,
        config: BrokerConfig,
        release: Release,
        clock: Clock,
        metadata: MetadataImage,
        store: MetadataStore | None = None,
        next_producer_id: int = 0,
        watchers: Watchers | None = None,
    ) -> None:
        self.config = config
        """The cluster-wide configuration, which each node extends with its own properties."""
        self.release = release
        self.clock = clock
        self.metadata = metadata
        self.nodes: dict[int, Node] = Noting(metadata.revision)
        """The running brokers, keyed by node id."""
        self.voters = [1]
        """The ids of the controllers: that of the first broker, unless they are apart from the brokers."""
        self.endpoints: dict[str, Endpoint] = {}
        """The addresses of the controller's listeners, keyed by the name of the listener."""
        self.node: Node | None = None
        """The node of the controller, if it has a listener."""
        self.watchers = watchers or Watchers()
        """The threads that wait for a change."""
        self.logs_added: Callable[[], None] = lambda: None
        """Called after replicas have been added, because their logs have to be created."""
        self.leadership = Leadership(metadata, self.nodes, clock, self.watchers, self._eligible_below)
        self.delete_remote: Callable[[Node, Log, Tier], None] | None = None
        """Deletes the remote segments of a partition; None without tiered storage."""
        self.changes = Changes(self._write)
        """Changes of the metadata, which is saved when a change is complete."""
        self.producer_ids = ProducerIds(next_producer_id, self._reserve_producer_ids)
        self.all_directories_failed: Callable[[], None] = lambda: None
        """Called when no running broker has a working log directory any more."""
        self._metadata_store = store
        self._saved_producer_id = next_producer_id
        self._is_saved = True
        self._changes_to_save = self._saved_changes = 0
        """The number of changes for which `save_in_thread` was called, and how many of them have been saved."""
        self._waiting_for_save: list[_Turn] | None = None
        """The requests that wait until a save in another thread has ended; None if there is none."""
        self._delegation_tokens = self._new_tokens() if self.are_tokens_configured else None

    @property
    def node_id(self) -> int:
        """The id of the active controller. The other voters exist only by name."""
        return self.voters[0]

    # Topics

    def create_topic(self, wanted: NewTopic, assignments: list[list[int]] | None = None) -> TopicState:
        """Create a topic and return its state.

        `assignments` lists the replicas of each partition, if they are assigned manually. Raises KafkaError with the
        codes of CreateTopics.
        """
        return self.create_placed(wanted, place_topic(wanted, assignments, self.metadata, self.config))

    def create_placed(self, wanted: NewTopic, replicas: list[list[int]], *, opens_later: bool = False) -> TopicState:
        """Create a topic with the replicas that `place_topic` has returned. Raises KafkaError.

        With `opens_later`, the log of a partition with a single replica is created afterwards, or on first use. In a
        temporary directory, which no other process reads, it is created on first use.
        """
        name, away = wanted.name, self.metadata.away
        states = [PartitionState(index, list(nodes), away) for index, nodes in enumerate(replicas)]
        topic = TopicState(name, new_topic_id(), states, wanted.properties)
        with self.changes.begin() as change:
            self.metadata.add_topic(topic)
            change.undo(lambda: self._drop(self.metadata.remove_topic(name)))
            self._host_new(topic, opens_later=opens_later or not self.saves_in_thread)
        self.watchers.touch()
        self._create_logs()
        return topic

    def _host_new(self, topic: TopicState, *, opens_later: bool) -> None:
        """Add the replicas of a new topic, and start their leaders."""
        opens: dict[Node, Callable[[Partition], Log]] = {}
        for state in topic.partitions:
            node = self.nodes.get(state.replicas[0]) if opens_later and len(state.replicas) == 1 else None
            if node is None:
                self.add_replicas(topic, state)
                continue
            if node not in opens:
                opens[node] = self._opens(node, topic, is_new=True)
            node.add_lazy_replicas([node.lazy_replica(topic, state, opens[node], self.leadership.changed)])
            self.leadership.begin(topic, state)

    async def create_later(
        self, wanted: NewTopic, replicas: list[list[int]], changes: list[Change], pause: Callable[[], Awaitable[None]]
    ) -> None:
        """Create a topic in several turns; its logs are created afterwards, or on first use.

        `place_topic` returns the `replicas`. Other requests do not see the topic until it is complete. The change is
        added to `changes`, but not saved (see `save_in_thread`). Raises KafkaError as `create_topic` does.
        """
        if any(len(nodes) != 1 or nodes[0] not in self.nodes for nodes in replicas) or wanted.name in STATE_TOPICS:
            with self.changes.begin(saves=False) as change:
                self.create_placed(wanted, replicas, opens_later=True)
            changes.append(change)
            return
        topic = TopicState(wanted.name, new_topic_id(), [], wanted.properties)
        partitions: dict[Node, list[Partition]] = {}
        opens: dict[Node, Callable[[Partition], Log]] = {}
        for index, nodes in enumerate(replicas):
            state = PartitionState(index, list(nodes), self.metadata.away, self.metadata.revision)
            topic.partitions.append(state)
            node = self.nodes.get(nodes[0])
            if node is None:
                raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, f"broker {nodes[0]} has been stopped")
            if node not in opens:
                opens[node] = self._opens(node, topic, is_new=True)
            partition = node.lazy_replica(topic, state, opens[node], self.leadership.changed)
            partitions.setdefault(node, []).append(partition)
            if index % PARTITIONS_PER_STEP == PARTITIONS_PER_STEP - 1:
                if self._metadata_store is not None and self._metadata_store.durable:
                    self._metadata_store.encode_early(topic)
                await pause()
        check_name(wanted.name, self.metadata)  # it may have been created meanwhile
        with self.changes.begin(saves=False) as change:
            self.metadata.add_topic(topic)
            change.undo(lambda: self._remove_again(topic))
            for node, added in partitions.items():
                node.add_lazy_replicas(added)
        changes.append(change)
        self.watchers.touch()
        self._create_logs()

    def _create_logs(self) -> None:
        if self.saves_in_thread:  # otherwise, the directory is temporary and not read by others
            self.logs_added()

    async def open_logs(self, name: str, pause: Callable[[], Awaitable[None]]) -> None:
        """Create the logs of a new topic now, in several turns. A replica whose log cannot be created goes offline."""
        topic = self.metadata.topics.get(name)
        for state in list(topic.partitions) if topic is not None else ():
            for node in [self.nodes[node_id] for node_id in state.replicas if node_id in self.nodes]:
                with suppress(StorageFailed):  # already logged
                    if (partition := node.partitions.get((name, state.index))) is not None:
                        _ = partition.log
                await pause()

    def _remove_again(self, topic: TopicState) -> None:
        if self.metadata.topics.get(topic.name) is topic:
            self._drop(self.metadata.remove_topic(topic.name))

    @property
    def saves_in_thread(self) -> bool:
        """Whether saving the metadata takes so long that it should not block other requests."""
        return self._metadata_store is not None and self._metadata_store.durable

    async def save_in_thread(self) -> None:
        """Save the metadata without blocking other requests. Raises StorageFailed.

        One request at a time writes the metadata, on behalf of all requests that are waiting when it starts.
        """
        self._changes_to_save += 1
        wanted = self._changes_to_save
        while self._saved_changes < wanted and self.saves_in_thread:
            if self._waiting_for_save is None:
                await self._save_for_all()
            else:
                self._waiting_for_save.append(turn := _Turn())
                await until(turn)

    async def _save_for_all(self) -> None:
        store, includes, waiting = self._metadata_store, self._changes_to_save, list[_Turn]()
        assert store is not None
        self._waiting_for_save = waiting
        try:
            await in_thread(store.writing(self.metadata, self._saved_producer_id))
            self._saved_changes = includes
        except OSError as error:
            raise self._not_saved(error) from error
        finally:
            self._waiting_for_save = None
            for turn in waiting:
                turn.complete(None)

    async def change_and_save(self, change_metadata: Callable[[], T]) -> T:
        """Call a function that changes the metadata, save it without blocking other requests, and return the result.

        If saving fails, the change is reverted, and StorageFailed is raised.
        """
        if not self.saves_in_thread:
            return change_metadata()
        with self.changes.begin(saves=False) as change:
            result = change_metadata()
        try:
            await self.save_in_thread()
        except BaseException:
            change.take_back()
            raise
        change.follow()
        return result

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its logs. Raises UNKNOWN_TOPIC_OR_PARTITION if it does not exist."""
        self.metadata.existing_topic(name)
        with self.changes.begin() as change:
            topic = self.metadata.remove_topic(name)
            change.undo(lambda: self.metadata.add_topic(topic))
            change.then(lambda: self._drop(topic))
        self.watchers.touch()

    def _drop(self, topic: TopicState) -> None:
        """Delete the logs of a topic that has been removed from the metadata."""
        for state in topic.partitions:
            self._drop_partition(topic, state.index)
        for node in self.leadership.informed():
            node.sync_deletions()
            node.observer.partitions_deleted(topic.name, range(len(topic.partitions)))
        self.leadership.forget_holds(topic.name)

    def _drop_partition(self, topic: TopicState, index: int) -> None:
        for node in self.leadership.informed():
            if self.delete_remote is not None and node.config.log_config(topic.config).is_tiered:
                partition = node.partitions.get((topic.name, index))
                with suppress(StorageFailed):  # already logged
                    if partition is not None and partition.is_leader and (tier := partition.log.local.tier) is not None:
                        self.delete_remote(node, partition.log, tier)
            node.delete_replica(topic.name, index)
            if topic.is_internal:
                node.observer.state_partition_changed(topic.name, index)

    def add_partitions(self, topic: TopicState, replicas: list[list[int]]) -> None:
        """Add partitions with these replicas to a topic."""
        with self.changes.begin() as change:
            change.undo(lambda: self.metadata.topic_changed(topic.name))
            for nodes in replicas:
                state = PartitionState(len(topic.partitions), list(nodes), self.metadata.away, self.metadata.revision)
                topic.partitions.append(state)
                change.undo(lambda: self._drop_partition(topic, topic.partitions.pop().index))
                self.add_replicas(topic, state)
            self.metadata.topic_changed(topic.name)
        self.watchers.touch()

    def state_topic(self, wanted: StateTopic) -> TopicState:
        """Return an internal topic, creating it if necessary. Its logs are created afterwards, or on first use."""
        topic = self.metadata.topics.get(wanted.name)
        if topic is None:
            new = wanted.wanted(self.config, len(self.metadata.endpoints))
            topic = self.create_placed(new, place_topic(new, None, self.metadata, self.config), opens_later=True)
        return topic

    @property
    def auto_creates_topics(self) -> bool:
        return self.config.auto_create_topics_enable and not any(node.is_read_only for node in self.nodes.values())

    def auto_create_topic(self, name: str) -> None:
        """Create a topic because a client requested its metadata.

        Internal topics are created as their coordinator would create them, others with the broker defaults
        (AutoTopicCreationManager.creatableTopic).
        """
        internal = STATE_TOPICS.get(name)
        if internal is None or (internal is SHARE_GROUP_STATE and not self.release.creates_share_state_topic):
            self.create_topic(NewTopic(name))
        else:
            self.state_topic(internal)

    # Brokers

    def fence_broker(self, node_id: int) -> None:
        """Let other brokers lead the partitions of a broker that has stopped or does not respond."""
        if (endpoint := self.metadata.endpoints.pop(node_id, None)) is not None:
            self.metadata.away[node_id] = endpoint
        self.leadership.node_left(node_id)

    def unfence_broker(self, node_id: int) -> None:
        """Let a fenced broker that is reached again follow its partitions, and lead some if it may."""
        if (endpoint := self.metadata.away.pop(node_id, None)) is not None:
            self.metadata.endpoints[node_id] = endpoint
        self.leadership.node_came(node_id)
        self.save()

    def unregister_broker(self, node_id: int) -> None:
        """Remove a broker from the cluster until it is started again. Raises BROKER_ID_NOT_REGISTERED."""
        metadata = self.metadata
        if metadata.away.pop(node_id, None) is None:
            if metadata.endpoints.pop(node_id, None) is None:
                raise KafkaError(Code.BROKER_ID_NOT_REGISTERED, f"Broker ID {node_id} is not currently registered")
            self.leadership.node_left(node_id)
        self.save()
        self.watchers.touch()

    # Replicas

    def add_replicas(self, topic: TopicState, state: PartitionState, *, skip_broken: bool = False) -> None:
        """Open the replicas of a partition and start its leader.

        With `skip_broken`, the partition exists already, and a replica whose log cannot be opened goes offline. Without
        it, the partition is new, and StorageFailed is raised.
        """
        for node in self.leadership.informed(state.replicas):
            self.add_replica_on(node, topic, state, skip_broken=skip_broken)
        self.leadership.begin(topic, state)

    def update_replicas(self, node: Node) -> None:
        """Delete the replicas that a broker has no longer, and open those that it has not opened."""
        for (name, index), replica in list(node.partitions.items()):
            state = self.metadata.partition(name, index)
            is_kept = state is not None and node.node_id in state.replicas
            if not is_kept or self.metadata.topics[name].topic_id != replica.topic_id:
                node.delete_replica(name, index)
        for topic, state in self.metadata.all_partitions():
            key = (topic.name, state.index)
            if node.node_id in state.replicas and key not in node.partitions and key not in node.offline:
                self.add_replica_on(node, topic, state, skip_broken=True)

    def inform(self, node: Node) -> None:
        """Let a broker that did not reach the controller use the metadata of now."""
        epochs = {key: replica.leader_epoch for key, replica in node.partitions.items()}
        node.use_metadata(self.metadata)
        self.update_replicas(node)
        for key, replica in node.partitions.items():
            if not replica.is_leader:
                replica.follow()
            elif replica.leader_epoch != epochs.get(key):
                replica.lead(self.clock.now_ms())

    def add_replica_on(self, node: Node, topic: TopicState, state: PartitionState, *, skip_broken: bool) -> None:
        """Open the replica of a partition on one broker, without starting its leader."""
        try:
            config = node.config.log_config(topic.config)
            node.add_replica(topic, state, config, self.leadership.changed, is_new=not skip_broken)
        except StorageFailed as error:
            if not skip_broken:
                raise
            node.offline[topic.name, state.index] = error.reason
            _LOG.error("%s-%d is offline: %s", topic.name, state.index, error.reason)

    def add_lazy_replica(self, topic: TopicState, state: PartitionState) -> None:
        """Start the leader of a partition with a single replica. The log is opened on first use."""
        node = self.nodes[state.replicas[0]]
        opens = self._opens(node, topic, is_new=False)
        node.add_lazy_replicas([node.lazy_replica(topic, state, opens, self.leadership.changed)])
        self.leadership.begin(topic, state)

    def _opens(self, node: Node, topic: TopicState, *, is_new: bool) -> Callable[[Partition], Log]:
        """Return the function that opens, or creates, the log of a partition of this topic when it is first used."""

        def open_log(partition: Partition) -> Log:
            try:
                return node.open_log(partition, node.config.log_config(topic.config), is_new=is_new)
            except StorageFailed as error:
                _LOG.error("%s-%d is offline: %s", topic.name, partition.index, error.reason)
                self.leadership.replica_left(topic, partition.state, node.node_id)
                raise

        return open_log

    def log_directory_failed(self, node: Node, directory: LogDirectory) -> None:
        """Take the replicas in a failed log directory offline, and elect other leaders for the partitions they led.

        Source: org.apache.kafka.controller.ReplicationControlManager.handleDirectoriesOffline.
        """
        lost = node.directory_failed(directory)
        if lost:
            _LOG.error("broker %d no longer serves %d partitions: %s", node.node_id, len(lost), directory.failure)
        for name, index in lost:
            topic, state = self.metadata.topics.get(name), self.metadata.partition(name, index)
            if topic is not None and state is not None:
                self.leadership.replica_left(topic, state, node.node_id)
        with suppress(StorageFailed):
            self.save()
        self.watchers.touch()
        if all(node.directories.have_all_failed for node in self.nodes.values()):
            self.all_directories_failed()

    def follower_fetched(self, leader: Partition, node_id: int, fetch_offset: int, log_start_offset: int) -> None:
        """Handle a fetch from `leader` by a follower in another process."""
        self.leadership.follower_fetched(leader, node_id, fetch_offset, log_start_offset)

    def preferred_replica(self, leader: Partition, rack: str, fetch_offset: int) -> int | None:
        """Return the replica that a consumer in this rack should read from, or None for the leader (KIP-392).

        Always returns None unless the property replica.selector.class is set.
        """
        if not self.config.replica_selector_class:
            return None
        return self.leadership.preferred_replica(leader, rack, fetch_offset)

    # Configuration

    def change_config(self, topic: TopicState, config: dict[str, str]) -> None:
        """Replace the configuration of a topic, apply it to its logs and save the metadata."""
        with self.changes.begin() as change:
            before, topic.config = topic.config, config
            change.undo(lambda: self.reconfigure(topic))
            change.undo(lambda: setattr(topic, "config", before))
            if before.get(MIN_ISR) != config.get(MIN_ISR):
                self.leadership.clear_eligible([topic])
            self.reconfigure(topic)
            self.save()

    def change_properties(self, kept: dict[str, dict[str, str]], name: str, config: dict[str, str]) -> None:
        """Replace the properties of a group or a metrics subscription in `kept`; without properties, it is removed."""
        with self.changes.begin() as change:
            before = dict(kept)
            change.undo(lambda: kept.update(before))
            change.undo(kept.clear)
            if config:
                kept[name] = config
            else:
                kept.pop(name, None)

    def reconfigure(self, topic: TopicState) -> None:
        """Apply the configuration of a topic to its logs."""
        for node in self.nodes.values():
            config = node.config.log_config(topic.config)
            for state in topic.partitions:
                partition = node.partitions.get((topic.name, state.index))
                if partition is not None and partition.is_open:
                    tier = partition.log.local.tier
                    partition.log.reconfigure(config)
                    if tier is None or partition.log.local.tier is not None or self.delete_remote is None:
                        continue
                    if partition.is_leader:
                        self.delete_remote(node, partition.log, tier)

    def apply_broker_config(self) -> None:
        """Apply the broker properties stored in the metadata to all brokers and logs, and save the metadata."""
        self.reconfigure_brokers()
        self.save()

    def reconfigure_brokers(self) -> None:
        """Apply the broker properties stored in the metadata to all brokers and logs."""
        self.config.reconfigure(self.metadata.broker_config.get(None, {}), {})
        for node in self.nodes.values():
            self._reconfigure_node(node)
            node.cordon_directories()
        if self.node is not None:
            self._reconfigure_node(self.node)
        for topic in self.metadata.topics.values():
            self.reconfigure(topic)

    def _reconfigure_node(self, node: Node) -> None:
        self.configure(node.node_id, node.config)
        node.observer.config_changed()

    def _eligible_below(self, topic: TopicState) -> int:
        """Return min.insync.replicas of a topic, or 0 if eligible leader replicas are disabled (KIP-966)."""
        from .features import ELIGIBLE_LEADERS, Features

        if not Features(self.release, self.metadata).level(ELIGIBLE_LEADERS):
            return 0
        return self.config.log_config(topic.config).min_insync_replicas

    def configure(self, node_id: int, config: BrokerConfig) -> BrokerConfig:
        """Update a broker's configuration with the properties stored in the metadata, and return it."""
        changed = self.metadata.broker_config
        config.reconfigure(changed.get(None, {}), changed.get(node_id, {}))
        return config

    # ACLs

    def create_acls(self, acls: Iterable[Acl]) -> None:
        """Add the ACLs that do not exist yet."""
        known = self.metadata.acls
        with self.changes.begin() as change:
            for acl in acls:
                if known.add(acl):
                    change.undo(partial(known.discard, acl))

    def delete_acls(self, acls: Iterable[Acl]) -> None:
        """Remove ACLs. Those that do not exist are ignored."""
        known = self.metadata.acls
        with self.changes.begin() as change:
            for acl in acls:
                if known.discard(acl):
                    change.undo(partial(known.add, acl))

    # Credentials and delegation tokens

    @property
    def delegation_tokens(self) -> DelegationTokens:
        """The delegation tokens. If none of their properties is set, this object is created on first use."""
        if self._delegation_tokens is None:
            self._delegation_tokens = self._new_tokens()
        return self._delegation_tokens

    @property
    def are_tokens_configured(self) -> bool:
        """Whether a property of delegation tokens is set."""
        return any(name.startswith("delegation.token.") for name in self.config.given())

    def _new_tokens(self) -> DelegationTokens:
        from kafkalet.broker.security.delegation_tokens import DelegationTokens, TokenSettings

        settings = TokenSettings.of(self.config.given(), knows_master_key=self.release.knows_master_key)
        tokens = self.metadata.delegation_tokens
        return DelegationTokens(tokens, settings, self.clock, self.release, self._change_tokens)

    def change_scram_credentials(self, changed: Mapping[tuple[str, ScramMechanism], ScramCredential | None]) -> None:
        """Store these credentials. A value of None removes the credential."""
        with self.changes.begin() as change:
            _replace(self.metadata.scram_credentials, changed, change)

    def _change_tokens(self, changed: Mapping[str, DelegationToken | None]) -> None:
        with self.changes.begin() as change:
            _replace(self.metadata.delegation_tokens, changed, change)

    # Saving the metadata

    def save(self) -> None:
        """Save the metadata: at the end of the change in progress if there is one, otherwise now.

        If saving fails, StorageFailed is raised, and saving is retried periodically.
        """
        if not self.changes.are_under_way:
            self._write()

    def write_again(self) -> None:
        """Save the metadata again if the last attempt failed."""
        if not self._is_saved:
            with suppress(StorageFailed):
                self._write()

    def _write(self) -> None:
        if self._metadata_store is None:
            return
        try:
            self._metadata_store.save(self.metadata, self._saved_producer_id)
        except OSError as error:
            raise self._not_saved(error) from error
        self._is_saved = True

    def skip_producer_ids(self, largest: int) -> None:
        """Do not assign producer ids up to `largest`, which are in use. To be called before any id is assigned."""
        self.producer_ids.skip(largest)
        self._saved_producer_id = self.producer_ids.next_id

    def _not_saved(self, error: OSError) -> StorageFailed:
        self._is_saved = False
        _LOG.error("cannot save the metadata: %s", explain(error))
        return StorageFailed(explain(error), explain(error))

    def _reserve_producer_ids(self, end: int) -> None:
        saved, self._saved_producer_id = self._saved_producer_id, end
        try:
            self.save()
        except StorageFailed:
            self._saved_producer_id = saved
            raise

    def close(self) -> None:
        """Clear the endpoints and nodes after all brokers have stopped. After this, nothing is saved."""
        self.nodes.clear()
        self.metadata.endpoints.clear()
        self.metadata.away.clear()
        self._metadata_store = None


class _Turn(Delayed[None]):
    """Completed when a request may save the metadata, or check whether another request has saved it."""

    @property
    def is_working(self) -> bool:
        return True  # the request continues if its client disconnects


def _replace(known: dict[K, V], changed: Mapping[K, V | None], change: Change) -> None:
    """Set the `changed` values of a mapping, and remove keys whose new value is None. The change can be undone."""
    before = dict(known)

    def restore() -> None:
        known.clear()
        known.update(before)

    change.undo(restore)
    for key, value in changed.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
