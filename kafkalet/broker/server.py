"""The server: the brokers of one cluster, in one event loop.

The server creates and closes the parts of a cluster: the metadata directory, the controller, and the node and network
layer of each broker. It starts and stops brokers and runs the periodic tasks. `kafkalet.Cluster` and `kafkalet.Broker`
are the public API of a server.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkalet.clock import Clock, LoopClock, LoopTime, Timer, client_time, elapsed_s
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.directories import LogDirectories
from kafkalet.storage.environment import StartInterrupted
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.file_system import DISK, FileSystem
from kafkalet.tasks.turns import Turns
from kafkalet.tasks.workers import Workers
from kafkalet.units import counted, named

from .broker_server import BrokerServer
from .cluster.controller import Controller
from .cluster.leadership import CONTROLLER, PEERS, Leadership, Peer
from .cluster.metadata import NO_LEADER, Endpoint, MetadataImage, PartitionState, TopicState
from .cluster.metadata_store import (
    FILE,
    Folder,
    LoadedMetadata,
    MetadataStore,
    add_found_logs,
    further_prefix,
    log_folder,
)
from .cluster.new_topics import NewTopic, check_property_names
from .cluster.node import Node
from .cluster.opening import Opening
from .cluster.periodic_tasks import PeriodicTasks
from .cluster.saved_contents import check_config, check_ids, id_of_directory, load_metadata, set_strays_aside
from .config.broker_config import NODE_IDS, BrokerConfig
from .config.listeners import ADVERTISED, LISTENERS, ListenerSettings, controller_listeners_of, with_shifted_ports
from .config.release import Release
from .coordinators import Coordinators
from .loop_host import LoopHost
from .network.addresses import Addresses
from .network.receiving import ReceiveBuffer
from .served import Role
from .watchers import Watchers

if TYPE_CHECKING:  # imported when they are needed
    from kafkalet.storage.overlay import Overlay

    from .cluster.cluster_image import ClusterImage, Predecessor
    from .cluster.compaction import CleanedPartition, RetainedPartition
    from .cluster.tiering import TieredPartition, Tiering
    from .network.faults.engine import Faults
    from .network.journal import Journal
    from .security.short_forms import ShortForms
    from .security.tls.certificate_authority import CertificateAuthority
    from .transactions.verification import Transactions

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

LOGS_OPENED_AT_START = 200
"""How many logs are opened before the brokers are ready; others are opened later if they need no recovery."""


class Start(NamedTuple):
    """The initial contents of a cluster: those of its directory; after a reset, those of an image, or none."""

    image: ClusterImage | None = None
    """The contents to restore."""
    before: Predecessor | None = None
    """The cluster that ran until now on the same ports. Its clients must accept the new leaders and producer ids."""


FRESH = Start()


class Server:
    """The brokers of one cluster, which run in this process, and everything that they share.

    `name` is used in error messages. `own_properties` has a dict for each broker, with properties of this broker only.
    `topics` are created at startup if they do not exist. The logs are stored in `data_dirs`, the first of which also
    has the metadata; without any, in a temporary directory that is removed at shutdown.
    """

    # Options, which are set before the start
    cluster_id: str | None = None
    """The cluster id of a new data directory, or None for a random one."""
    feature_levels: Mapping[str, int] = {}
    """The levels of features in a new data directory, if they are not those of the release."""
    file_system: FileSystem = DISK
    """The file system of the data directory. Tests replace it to simulate broken disks."""
    is_read_only = False
    """Whether the data directories stay unchanged; see served.py."""
    short_forms: ShortForms | None = None
    """Users and ACLs that are created at startup."""
    journal: Journal | None = None
    """Records the requests."""

    # What exists while the server is running
    authority: CertificateAuthority | None = None
    """The authority that has issued the certificates of the brokers, if TLS is requested."""
    _client_directory: str | None = None
    _metadata_store: MetadataStore | None = None
    _overlay: Overlay | None = None
    _turns: Turns | None = None
    _workers: Workers | None = None
    _periodic_tasks: PeriodicTasks | None = None
    _tiering: Tiering | None = None
    _opening: Opening | None = None
    _removal: threading.Thread | None = None
    """Removes the directory that the cluster had before its contents were replaced."""
    _faults: Faults | None = None
    _is_interrupted = False

    def __init__(
        self,
        brokers: int,
        addresses: Addresses,
        config: BrokerConfig,
        release: Release,
        *,
        name: str,
        own_properties: Sequence[Mapping[str, str]],
        data_dirs: Sequence[str],
        topics: Sequence[NewTopic],
        clock: Clock,
    ) -> None:
        self.release = release
        self.config = config
        """The cluster-wide configuration. Each node has a copy to which its own properties are added."""
        self.clock = clock
        """The clock that the user passed."""
        self.loop_clock: Clock = clock
        """The same clock, with timers that run in the event loop while the server is running."""
        self.host = LoopHost(name, self._open, self._stop, self._close_sockets)
        self.watchers = Watchers()
        """The threads that wait for a change of the brokers."""
        self.controller = Controller(config, release, clock, MetadataImage(""))
        self.brokers: dict[int, BrokerServer] = {}
        """The running brokers, keyed by id. Their nodes are the controller's `nodes`."""
        self.controller_server: BrokerServer | None = None
        """Serves the listeners of the controller, if it has any, while a controller is active."""
        self.users: dict[str, str] = {}
        """The passwords of users who can log in, as far as they are known."""
        self.refusing: set[int] = set()
        """The ids of the brokers that refuse new connections, whether they are running or stopped."""
        self.first_node_id = config.first_node_id(brokers)
        """The id of the first broker. The other brokers have the ids that follow."""
        self._sessions: dict[int, Timer] = {}
        """When the sessions of brokers without the controller expire, so that the brokers are fenced."""
        self.all_directories_failed: Callable[[], None] = lambda: None
        """Called in the event loop when all log directories of all running brokers have failed."""
        self._given_tls = [name for name in config.static if name.startswith("ssl.")]
        self._brokers = brokers
        self._own = own_properties
        self._addresses = addresses
        self._controller_addresses = Addresses(
            controller_listeners_of(config),
            settings_of=controller_listeners_of,
        )
        self._data_dirs = list(data_dirs)
        self._new_topics = topics
        self._buffer = ReceiveBuffer()

    @property
    def has_data_directory(self) -> bool:
        """Whether the data is kept in a directory that the user has named."""
        return bool(self._data_dirs)

    @property
    def node_ids(self) -> range:
        """The ids of all brokers, whether they are running or stopped."""
        return range(self.first_node_id, self.first_node_id + self._brokers)

    @property
    def stopped(self) -> list[int]:
        """The ids of the stopped brokers."""
        return [node_id for node_id in self.node_ids if node_id not in self.nodes]

    @property
    def endpoints(self) -> list[Endpoint]:
        """The addresses of the running brokers, including those that are unregistered."""
        return [node.endpoint for node in self.nodes.values()]

    @property
    def _directories_of_a_broker(self) -> int:
        return max(len(self._data_dirs), 1)

    @property
    def servers(self) -> list[BrokerServer]:
        """The running brokers, and the controller if it has listeners."""
        controller = self.controller_server
        return [*self.brokers.values(), *([] if controller is None else [controller])]

    @property
    def listener_settings(self) -> list[ListenerSettings]:
        """The listeners of the first broker and of the controller."""
        return [*self._addresses.listeners, *self._controller_addresses.listeners]

    @property
    def has_new_topics(self) -> bool:
        """Whether there are topics to create at startup."""
        return bool(self._new_topics)

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the event loop of the server; see LoopHost.call."""
        return self.host.call(function)

    @property
    def metadata(self) -> MetadataImage:
        return self.controller.metadata

    @property
    def nodes(self) -> dict[int, Node]:
        """The nodes of the running brokers."""
        return self.controller.nodes

    @property
    def leadership(self) -> Leadership:
        return self.controller.leadership

    @property
    def transactions(self) -> Transactions:
        """The transactions of the whole cluster, regardless of which broker coordinates them."""
        from .transactions.verification import Transactions

        return Transactions(lambda: self.metadata, LoopTime(self.host.loop), self.release, self._coordinators_of)

    def _coordinators_of(self, node_id: int) -> Coordinators | None:
        broker = self.brokers.get(node_id)
        return None if broker is None else broker.coordinators

    @property
    def temporary_directory(self) -> str | None:
        """The directory that the cluster removes when it stops, or None if the data is kept or nothing is open."""
        if self._overlay is not None:
            return self._overlay.temporary
        store = self._metadata_store
        return None if store is None or store.durable else store.path

    @property
    def log_directories(self) -> list[str]:
        """The paths of the log directories of the running brokers."""
        return [path for node in self.nodes.values() for path in node.directories.paths]

    @property
    def is_busy(self) -> bool:
        """Whether a long request is being processed, or so many requests have arrived that they have to queue."""
        return self._turns is not None and (
            self._turns.is_congested or any(broker.router.is_busy for broker in self.brokers.values())
        )

    # Brokers

    def hold_replication(self, node_id: int, name: str | None, index: int | None) -> None:
        """Stop a broker's replicas (of a partition, of a topic, or all) from following their leaders."""
        self.check_node(node_id)
        if name is None and index is not None:
            raise ValueError(f"partition {index} is given without a topic; name the topic, too")
        if name is not None:
            states = (
                [self.metadata.existing_partition(name, index)]
                if index is not None
                else self.metadata.existing_topic(name).partitions
            )
            if not any(node_id in state.replicas for state in states):
                what = name if index is None else f"{name}-{index}"
                raise ValueError(f"broker {node_id} has no replica of {what}, so there is nothing to hold back")
        self.leadership.hold(node_id, name, index)

    def release_replication(self, node_id: int, name: str | None, index: int | None) -> None:
        """Undo an earlier call of `hold_replication` with the same arguments."""
        if not self.leadership.release(node_id, name, index):
            what = "" if name is None else f", topic {name}" if index is None else f", partition {name}-{index}"
            raise ValueError(
                f"nothing is held back with these arguments (broker {node_id}{what}); "
                "pass the same arguments as to hold_replication"
            )

    def elect_leader(self, name: str, index: int, node_id: int) -> None:
        """Make a broker the leader of a partition, in a new epoch.

        Raises PREFERRED_LEADER_NOT_AVAILABLE if the broker's replica is not in sync.
        """
        state = self.metadata.existing_partition(name, index)
        self.check_node(node_id)
        self.leadership.elect(self.metadata.topics[name], state, node_id)
        if state.leader != node_id:
            raise KafkaError(
                Code.PREFERRED_LEADER_NOT_AVAILABLE,
                f"broker {node_id} cannot lead {name}-{index}; in-sync replicas: {_listed(state.isr)}",
            )
        self.controller.save()

    def fail_log_directory(self, node_id: int, log_dir: int | str) -> None:
        """Take a broker's log directory offline, as if its disk had failed. `log_dir` is its number or its path."""
        node, path = self._log_directory(node_id, log_dir)
        directory = node.directories.at(path)
        node.directories.fail(path, "a test made the disk fail")
        assert directory is not None
        self.controller.log_directory_failed(node, directory)

    def restore_log_directory(self, node_id: int, log_dir: int | str) -> None:
        """Let a broker use an offline log directory again."""
        node, path = self._log_directory(node_id, log_dir)
        for name, index in node.restore_directory(path):
            topic, state = self.metadata.topics.get(name), self.metadata.partition(name, index)
            del node.offline[name, index]
            if topic is not None and state is not None:
                self.controller.add_replica_on(node, topic, state, skip_broken=True)
                self.leadership.replica_came(topic, state, node_id)
        self.controller.save()
        self.watchers.touch()

    def _log_directory(self, node_id: int, log_dir: int | str) -> tuple[Node, str]:
        self.check_node(node_id)
        node = self.nodes.get(node_id)
        if node is None:
            raise ValueError(f"broker {node_id} is stopped; broker({node_id}).start() starts it")
        paths = node.directories.paths
        if isinstance(log_dir, str):
            return node, os.path.abspath(log_dir)
        if not 0 <= log_dir < len(paths):
            raise ValueError(
                f"broker {node_id} has no log directory number {log_dir}; they are numbered from 0 to {len(paths) - 1}"
            )
        return node, paths[log_dir]

    def check_node(self, node_id: int) -> None:
        """Raise ValueError unless the broker, running or stopped, belongs to this cluster."""
        if node_id not in self.node_ids:
            raise ValueError(f"broker {node_id} does not exist; this cluster has {named('broker', self.node_ids)}")

    def addresses_of_listeners(self) -> dict[str, list[Endpoint]]:
        """Return the addresses of the running brokers, keyed by listener, in the order of the property `listeners`."""
        running = self.endpoints
        found = {}
        for settings in self._addresses.listeners if running else ():
            if at := [endpoint for known in running if (endpoint := known.at(settings.name)) is not None]:
                found[settings.name] = at
        return found | {name: [endpoint] for name, endpoint in self.controller.endpoints.items()}

    def refuse_connections(self, node_id: int) -> None:
        """Refuse new connections to a broker, as if it were not running, even after it has been restarted."""
        self.refusing.add(node_id)
        broker = self.brokers.get(node_id)
        if broker is not None and not self._addresses.is_reserved(node_id):
            self._stop_listening(broker)

    def _stop_listening(self, broker: BrokerServer) -> None:
        for listener in broker.listeners:
            listener.stop_listening()
        self._addresses.reserve(broker.node.node_id)

    def accept_connections(self, node_id: int) -> None:
        """Undo `refuse_connections`. Has no effect if the broker accepts connections."""
        self.refusing.discard(node_id)
        broker = self.brokers.get(node_id)
        if broker is not None and self._addresses.is_reserved(node_id):
            self._addresses.take(node_id, broker.listeners, broker.node.config)
            for listener in broker.listeners:
                listener.resume()

    @property
    def faults(self) -> Faults:
        """The faults that tests have set, created on first use."""
        if self._faults is None:
            from .network.faults.engine import Faults

            self._faults = Faults(self.watchers.touch)
            for node_id, broker in self.brokers.items():
                self._faults.attach(node_id, broker.router)
        return self._faults

    # Log cleaner and retention

    def run_cleaner(self, *, roll: bool = False) -> list[CleanedPartition]:
        """Clean the compacted logs of all running brokers until none is due. Return the cleaned replicas.

        May be called from any thread, which then does the work; the event loop only replaces the files. Raises
        RuntimeError if the brokers are read-only.
        """
        self._check_writable()
        from kafkalet.tasks.task import finish

        cleaned = []
        for node in self.call(self._with_open_logs):
            cleaned += finish(node.compaction.clean(roll=roll), self.call)
        return cleaned

    def run_retention(self) -> list[RetainedPartition]:
        """Apply retention to all logs of all running brokers. Return those whose segments were deleted.

        Raises RuntimeError if the brokers are read-only.
        """
        self._check_writable()
        return [retained for node in self._with_open_logs() for retained in node.compaction.retain()]

    def run_tiering(self) -> list[TieredPartition]:
        """Run the remote log manager of all running brokers once. Return the partitions that have changed.

        May be called from any thread, which then copies the segments. Raises RuntimeError without remote storage, or if
        the brokers are read-only.
        """
        self._check_writable()
        from kafkalet.tasks.task import finish

        tiering = self._tiering
        if tiering is None:
            raise RuntimeError("there is no remote storage; set remote.log.storage.system.enable=true")
        self.call(self._with_open_logs)
        return finish(tiering.run(), self.call)

    def _check_writable(self) -> None:
        if self.is_read_only:
            raise RuntimeError("the brokers are read-only; start them without read_only=True")

    def _with_open_logs(self) -> list[Node]:
        """Open the logs that have not been opened yet. Return the nodes."""
        for node in self.nodes.values():
            node.open_logs()
        return list(self.nodes.values())

    # Contents

    def image(self) -> ClusterImage:
        """Return the contents of the cluster, as its data directory would contain them if it stopped now.

        Raises RuntimeError if a broker is stopped.
        """
        from kafkalet.storage.image import StoredFile, image_of

        from .cluster.cluster_image import ClusterImage

        if away := self.stopped:
            raise RuntimeError(f"a snapshot needs all brokers of the cluster; stopped: {_listed(away)}")
        files = {FILE: StoredFile(MetadataStore.encode(self.metadata, self.controller.producer_ids.next_id))}
        for node_id, node in self.nodes.items():
            folder = "" if self._brokers == 1 else f"{log_folder(node_id)}/"
            if node.directories.offline:
                raise RuntimeError(
                    f"a snapshot needs all log directories; offline: {_listed(node.directories.offline)}"
                )
            for place, directory in enumerate(node.directories):
                prefix = (further_prefix(place) if place else "") + folder
                files.update({prefix + name: stored for name, stored in image_of(directory).items()})
        return ClusterImage(files, self.first_node_id, self._brokers, self._directories_of_a_broker)

    def restore(self, image: ClusterImage) -> None:
        """Replace the contents of the cluster, on the same ports. All connections are closed.

        Leader epochs are higher than before, so that clients accept the new leaders. Raises ValueError if the image
        belongs to other brokers, and MetadataDamaged if this release does not support the configurations in it. Raises
        RuntimeError if the brokers are read-only.
        """
        self._check_writable()
        if (image.first_node_id, image.brokers) != (self.first_node_id, self._brokers):
            raise ValueError(
                f"the snapshot is of {_brokers(image.first_node_id, image.brokers)}, but this cluster has "
                f"{_brokers(self.first_node_id, self._brokers)}"
            )
        if image.directories != self._directories_of_a_broker:
            raise ValueError(
                f"the snapshot is of brokers with {image.directories} log directories, but those of this cluster have "
                f"{self._directories_of_a_broker}"
            )
        metadata, _ = MetadataStore.decode(image.files[FILE].data, FILE)
        check_config(metadata, self.config, FILE)
        self._reopen(image)

    def reset(self) -> None:
        """Remove all contents of the cluster, and create its first topics again. All connections are closed.

        Read-only brokers revert to the contents of their data directory.
        """
        self.refusing.clear()
        self._reopen(None)
        if self.journal is not None:
            self.journal.clear()

    def _reopen(self, image: ClusterImage | None) -> None:
        from .cluster.cluster_image import Predecessor

        loop = self.host.loop
        before = Predecessor.of(self.metadata, self.controller.producer_ids.next_id)
        old, self._metadata_store = self._metadata_store, None
        self._close(keeps_ports=True)
        try:
            if self._data_dirs and not self.is_read_only:
                self._new_store().erase(self.node_ids)
            self._open(loop, Start(image, before))
        except BaseException:
            self._close()
            raise
        finally:
            if old is not None and not old.durable:
                self._remove_later(old)
        self.watchers.touch()

    def _new_store(self) -> MetadataStore:
        """Return the store of the data directories, or of a new temporary directory. Raises OSError."""
        first = self._data_dirs[0] if self._data_dirs else None
        return MetadataStore(first, self._system, self._data_dirs[1:])

    def _open_store(self) -> MetadataStore:
        if self.is_read_only:
            from kafkalet.storage.overlay import Overlay

            self._overlay = Overlay(self._data_dirs, self.file_system)
        return self._new_store()

    @property
    def _system(self) -> FileSystem:
        return self.file_system if self._overlay is None else self._overlay

    def _remove_later(self, store: MetadataStore) -> None:
        """Remove a temporary directory in a thread, because that can take longer than everything else."""
        self._finish_removal()
        self._removal = threading.Thread(target=store.remove, name="kafkalet-remove", daemon=True)
        self._removal.start()

    def _finish_removal(self) -> None:
        if self._removal is not None:
            self._removal.join()
            self._removal = None

    # Life cycle

    def _open(self, loop: asyncio.AbstractEventLoop, start: Start = FRESH) -> None:
        """Start the brokers.

        1. Load the metadata, and create the controller (`_load`).
        2. Open the log directories of each broker, and bind its addresses (`_open_brokers`).
        3. Open the logs, which recovers those that were not closed, and elect leaders (`_open_topics`).
        4. Load the groups and transactions from their logs (`_load_coordinators`).
        5. Create the topics, users and ACLs that the cluster is to start with, and save the metadata.
        6. Accept clients, and start the tasks in the background (`_listen`).
        """
        clock = self.clock
        self.loop_clock = clock.bound_to(loop, self.host.call_in(loop)) if isinstance(clock, LoopClock) else clock
        self._turns = Turns(loop.call_soon, elapsed_s)
        self._workers = Workers(loop.call_soon_threadsafe)
        self._metadata_store = store = self._open_store()
        loaded = self._load(store, start)
        self._open_brokers(loop, store, loaded)
        self._open_topics(start, loaded)
        self._load_coordinators(start, loaded)
        if self._tiering is not None and not self.is_read_only:
            self._tiering.create_topic()
        if start.image is None:
            self._create_contents()
        with nullcontext() if loaded.is_new else suppress(StorageFailed):  # start even if the disk is full
            self.controller.save()
        self._listen(loop, store)

    def _load(self, store: MetadataStore, start: Start) -> LoadedMetadata:
        """Load the metadata, apply the configuration in it, and create the controller."""
        if start.image is not None:
            store.fill(start.image.files)
        loaded = load_metadata(store, self.node_ids, self.config, self.cluster_id or "")
        self._take_id_of_directory(store, loaded.image)
        if start.before is not None:
            loaded = loaded._replace(next_producer_id=start.before.continued_by(loaded.image, loaded.next_producer_id))
        self.controller = Controller(
            self.config, self.release, self.loop_clock, loaded.image, store, loaded.next_producer_id, self.watchers
        )
        self.controller.all_directories_failed = lambda: self.all_directories_failed()
        if self.config.remote_log_storage_system_enable and self.release.has_tiered_storage:
            from .cluster.tiering import Tiering

            beside = store.path + "-tiered" if store.durable else store.path
            directory = self.config.given().get(f"{self.config.remote_log_storage_manager_impl_prefix}dir", beside)
            self._tiering = Tiering(self.controller, directory, durable=store.durable)
            self.controller.delete_remote = self._tiering.delete_partition
        if loaded.is_new:
            self.metadata.broker_config[None] = self.config.cluster_wide_at_first()
            self.metadata.feature_levels = dict(self.feature_levels)
        check_config(loaded.image, self.config, store.file)
        self.config.reconfigure(self.metadata.broker_config.get(None, {}), {})
        if self.short_forms is not None:
            self._apply(self.short_forms)
        return loaded

    def _take_id_of_directory(self, store: MetadataStore, metadata: MetadataImage) -> None:
        """Take the id of the broker that wrote the data directory, unless a property determines the id."""
        if self._brokers > 1 or not self._data_dirs or any(name in self.config.static for name in NODE_IDS):
            return
        if (found := id_of_directory(store, metadata, self.first_node_id)) is not None:
            _LOG.info("the id of this broker is %d, as in the meta.properties of its directory", found)
            self.first_node_id = found
            self._addresses.count_from(found)

    def _open_brokers(self, loop: asyncio.AbstractEventLoop, store: MetadataStore, loaded: LoadedMetadata) -> None:
        """Open the log directories of the brokers, and bind their addresses. Clients are not accepted yet."""
        for node_id in self.node_ids:
            self._open_broker(node_id, loop)
        self._open_controller(loop)
        check_ids(loaded.image, self.node_ids, store.file)
        if loaded.is_complete:
            set_strays_aside(loaded.image, self.nodes)

    def _load_coordinators(self, start: Start, loaded: LoadedMetadata) -> None:
        """Load the groups and transactions, and skip the producer ids that they and the logs contain."""
        for broker in self.brokers.values():
            broker.coordinators.load_all()
            if start.image is not None:  # their clients may no longer exist, and new members would wait for them
                broker.coordinators.remove_members()
        if not loaded.has_producer_ids:
            self.controller.skip_producer_ids(self._largest_producer_id())

    def _listen(self, loop: asyncio.AbstractEventLoop, store: MetadataStore) -> None:
        """Accept clients, and start the tasks in the background."""
        for broker in self.brokers.values():
            self._start_listening(broker, loop)
        self._start_controller(loop)
        assert self._turns is not None
        assert self._workers is not None
        self._opening = Opening(self._turns, self._workers)
        self.controller.logs_added = partial(self._opening.start, self.nodes)
        self.controller.logs_added()
        self._periodic_tasks = PeriodicTasks(self.nodes, self.leadership, self.loop_clock, self._turns, self._workers)
        self._periodic_tasks.start(
            self.config,
            durable=store.durable,
            is_read_only=self.is_read_only,
            has_followers=self._brokers > 1,
            write_again=self.controller.write_again,
            tiering=self._tiering,
            tokens=self.controller.delegation_tokens if self.controller.are_tokens_configured else None,
        )

    def _create_contents(self) -> None:
        """Create the topics, users and ACLs that the cluster is to start with, unless they exist."""
        for new in self._new_topics:
            if new.name not in self.metadata.topics:
                check_property_names(new.properties, self.config)
                self.controller.create_topic(new)
        if self.short_forms is not None:
            for acl in self.short_forms.acls:
                self.metadata.acls.add(acl)
            self.metadata.scram_credentials.update(self.short_forms.credentials())

    def _start_listening(self, broker: BrokerServer, loop: asyncio.AbstractEventLoop) -> None:
        for listener in broker.listeners:
            listener.start(loop)
        if broker.node.node_id in self.refusing:
            self._stop_listening(broker)

    def _open_broker(self, node_id: int, loop: asyncio.AbstractEventLoop) -> BrokerServer:
        """Open a broker's log directory and bind its address. Clients are not accepted yet."""
        assert self._metadata_store is not None
        directories = LogDirectories(
            self._metadata_store.log_directories(node_id, self._brokers),
            self.loop_clock,
            durable=self._metadata_store.durable,
            cluster_id=self.metadata.cluster_id or None,
            node_id=node_id,
            given_node_id=node_id,
            check_interrupted=self._check_interrupted,
            call_soon=loop.call_soon_threadsafe,
            system=self._system,
            tier_of=None if self._tiering is None else self._tiering.tier_of,
        )
        if not self.metadata.cluster_id:
            self.metadata.cluster_id = directories.cluster_id
        broker = self._server_of(node_id, directories, loop, Role.BROKER)
        node, config = broker.node, broker.node.config
        node.cordon_directories()
        self.nodes[node_id] = node
        self.brokers[node_id] = broker
        if self._faults is not None:
            self._faults.attach(node_id, broker.router)
        self.metadata.away.pop(node_id, None)
        self.metadata.unresponsive.discard(node_id)
        node.endpoint = self._addresses.take(node_id, broker.listeners, config)
        self.metadata.endpoints[node_id] = node.endpoint
        return broker

    def _server_of(
        self, node_id: int, directories: LogDirectories, loop: asyncio.AbstractEventLoop, role: Role
    ) -> BrokerServer:
        """Create a broker or the controller. Its addresses are not bound yet."""
        config = self.controller.configure(node_id, self.config.for_broker(self._own_properties(node_id)))
        assert self._turns is not None
        assert self._workers is not None
        node = Node(
            node_id,
            self.metadata,
            config,
            self.release,
            directories,
            self.loop_clock,
            loop,
            self._turns,
            self._workers,
            self.watchers,
        )
        node.is_read_only = self.is_read_only
        coordinators = Coordinators(node, self.controller.producer_ids.take, self._coordinators_of)
        server = BrokerServer(node, self.controller, coordinators, self.brokers, self._buffer, role)
        server.router.hooks.journal = self.journal
        return server

    def _open_controller(self, loop: asyncio.AbstractEventLoop) -> None:
        """Bind the listeners of the controller, if it has any. It has no logs of its own."""
        self.controller.voters = self.config.voters(self.first_node_id)
        node_id = self.controller.node_id
        if not self._controller_addresses.listeners:
            return
        server = self._server_of(node_id, LogDirectories([], self.loop_clock), loop, Role.CONTROLLER)
        self._controller_addresses.count_from(node_id)
        endpoint = self._controller_addresses.take(node_id, server.listeners, server.node.config)
        names = [listener.name for listener in server.listeners]
        self.controller.endpoints = {name: found for name in names if (found := endpoint.at(name)) is not None}
        server.node.endpoint, self.controller.node, self.controller_server = endpoint, server.node, server

    def _start_controller(self, loop: asyncio.AbstractEventLoop) -> None:
        for listener in () if self.controller_server is None else self.controller_server.listeners:
            listener.start(loop)

    def _close_controller(self, *, keeps_ports: bool) -> None:
        if self.controller_server is not None:
            self.controller_server.close()
            if keeps_ports:
                self._controller_addresses.reserve(self.controller.node_id)
            self.controller.node = self.controller_server = None
            self.controller.endpoints = {}

    def _own_properties(self, node_id: int) -> dict[str, str]:
        """Return the properties that are set for this broker, or a controller with its id, only."""
        facts = {name: str(node_id) for name in NODE_IDS if name in self.config.static}
        if node_id not in self.node_ids:
            return facts
        step = node_id - self.first_node_id
        for name in (LISTENERS, ADVERTISED) if step else ():
            if (text := self.config.static.get(name)) is not None:
                facts[name] = with_shifted_ports(text, step)
        return facts | dict(self._own[step])

    def _open_topics(self, start: Start, loaded: LoadedMetadata) -> None:
        """Open the logs of the topics in the metadata, and of topics that exist only as directories.

        Logs that need no recovery may be opened later, unless all are needed to find the producer ids in use.
        """
        if start.image is None and self.release.fences_leaders_after_a_crash:
            self.leadership.leave_all_without_leader()
        known = {(topic.name, state.index) for topic, state in self.metadata.all_partitions() if state.replicas}
        add_found_logs(
            self.metadata,
            [Folder(node.node_id, *found) for node in self.nodes.values() for found in node.directories.found(known)],
        )
        for number, (topic, partition) in enumerate(list(self.metadata.all_partitions())):
            self._check_interrupted()
            self.leadership.leave_out_missing(topic, partition)
            if number >= LOGS_OPENED_AT_START and loaded.has_producer_ids and self._may_open_later(topic, partition):
                self.controller.add_lazy_replica(topic, partition)
            else:
                self.controller.add_replicas(topic, partition, skip_broken=True)
            self.leadership.elect(topic, partition)  # elects a leader if there was none, or if it no longer exists
        for node in self.nodes.values():
            node.resume_moves()
        self._warn_of_missing_leaders()

    def _warn_of_missing_leaders(self) -> None:
        """Log the number of partitions without a leader, because their in-sync replicas belong to stopped brokers."""
        ours = self.nodes.keys()
        count = sum(
            not ours.isdisjoint(state.replicas) and ours.isdisjoint(state.may_lead)
            for _, state in self.metadata.all_partitions()
            if state.leader == NO_LEADER
        )
        if count:
            _LOG.warning(
                "%s without a leader, because the in-sync replicas belong to stopped brokers; "
                "unclean.leader.election.enable=true lets the replicas here lead",
                counted(count, "partition"),
            )

    def _largest_producer_id(self) -> int:
        """Return the largest producer id in the logs and in the state of transactions; -1 if there is none."""
        in_logs = (
            entry.producer_id
            for node in self.nodes.values()
            for partition in node.partitions.values()
            for entry in partition.log.active_producers()
        )
        in_transactions = (
            transaction.metadata.producer_id
            for broker in self.brokers.values()
            for transaction in broker.coordinators.loaded_transactions()
        )
        return max(*in_logs, *in_transactions, -1, -1)

    def _may_open_later(self, topic: TopicState, state: PartitionState) -> bool:
        """Return whether the log of a partition may be opened after the broker is ready.

        Coordinators read their logs at once, and replicas of the same partition have to agree.
        """
        if len(state.replicas) != 1 or topic.is_internal:
            return False
        node = self.nodes.get(state.replicas[0])
        return node is not None and node.directories.were_clean

    def interrupt(self) -> None:
        """Interrupt a start in progress, which soon raises StartInterrupted. May be called from a signal handler."""
        self._is_interrupted = True

    def _check_interrupted(self) -> None:
        if self._is_interrupted:
            raise StartInterrupted

    def stop_broker(self, node_id: int, *, is_clean: bool = True) -> None:
        """Stop one broker. Its listener is closed, and other brokers become the leaders of its partitions.

        With `is_clean=False`, the cluster treats the broker as killed: others replace it when its session has expired.
        Its data is kept.
        """
        self.check_node(node_id)
        if node_id not in self.nodes:
            raise ValueError(f"broker {node_id} is already stopped; broker({node_id}).start() starts it again")
        if not is_clean and self.leadership.cut_off.get(node_id) != PEERS:
            self.cut_off_broker(node_id, PEERS)
        self._end_cut(node_id)
        del self.nodes[node_id]
        broker = self.brokers.pop(node_id)
        if is_clean:
            self._end_session(node_id)
            self._fence(node_id)
        broker.close()
        if not is_clean:
            broker.node.directories.forget_clean_shutdown()
        self._addresses.reserve(node_id)
        self.controller.save()
        self.watchers.touch()

    def cut_off_broker(self, node_id: int, peers: Collection[Peer]) -> None:
        """Cut a broker off from "clients", other "brokers" or the "controller", in addition to what it is cut off from.

        Without the controller, it is fenced when its session has expired, and serves clients by the metadata of now. A
        broker that is cut off from everything is suspended, as SIGSTOP suspends its process.
        """
        self.check_node(node_id)
        if unknown := set(peers) - PEERS:
            raise ValueError(f"a broker cannot be cut off from {unknown.pop()!r}, only from {', '.join(sorted(PEERS))}")
        before = self.leadership.cut_off.get(node_id, frozenset[Peer]())
        new = PEERS.intersection(peers) - before
        if node_id not in self.nodes or not new:
            raise ValueError(f"broker {node_id} is stopped, paused or cut off already")

        self.leadership.cut(node_id, before | new)
        node = self.nodes[node_id]
        node.is_silent = "brokers" in before | new
        if "controller" in new:
            self._begin_session(node_id)
            if "clients" not in new:
                node.use_metadata(self.metadata.copy())
        self._suspend_clients(node_id, suspended="clients" in before | new)

    def reconnect_broker(self, node_id: int) -> None:
        """Undo `cut_off_broker`: the broker serves the requests that have arrived, and follows the leaders of now."""
        self.check_node(node_id)
        if not self._end_cut(node_id):
            raise ValueError(f"broker {node_id} is neither paused nor cut off")
        self._end_session(node_id)
        self._reach(node_id)
        self._suspend_clients(node_id, suspended=False)

    def stop_controller(self) -> None:
        """Let no controller be active: leaders, ISRs and topics do not change, and requests for the controller wait."""
        if not self.leadership.has_controller:
            raise ValueError("the controller is stopped already")
        self.leadership.has_controller = False
        self._close_controller(keeps_ports=True)

    def start_controller(self) -> None:
        """Let a controller be active again, after `stop_controller`. It grants each broker a new session."""
        if self.leadership.has_controller:
            raise ValueError("the controller is not stopped")
        self.leadership.has_controller = True
        self._open_controller(self.host.loop)
        self._start_controller(self.host.loop)
        for node_id in self.node_ids:
            if node_id in self.nodes and self.leadership.reaches_controller(node_id):
                self._reach(node_id)
            else:
                self._begin_session(node_id)

    def _reach(self, node_id: int) -> None:
        """Let a broker know the metadata of now and follow, if it reaches the controller."""
        node = self.nodes[node_id]
        if not self.leadership.reaches_controller(node_id):
            return
        if node.metadata is not self.metadata:
            self.controller.inform(node)
            for topic, state in self.metadata.all_partitions():
                if topic.is_internal:
                    node.observer.state_partition_changed(topic.name, state.index)
        self.controller.unfence_broker(node_id)
        node.purgatory.touch(CONTROLLER)

    def _begin_session(self, node_id: int) -> None:
        """Fence a broker if the controller does not hear from it until its session expires."""
        self._end_session(node_id)
        timeout_ms = self.config.broker_session_timeout_ms
        self._sessions[node_id] = client_time(self.loop_clock).call_later(timeout_ms, partial(self._fence, node_id))

    def _end_session(self, node_id: int) -> None:
        if (session := self._sessions.pop(node_id, None)) is not None:
            session.cancel()

    def _fence(self, node_id: int) -> None:
        """Let others lead the partitions of a broker, if a controller is active."""
        if self.leadership.has_controller:
            self.controller.fence_broker(node_id)
            self.controller.save()
        self.watchers.touch()

    def _suspend_clients(self, node_id: int, *, suspended: bool) -> None:
        (self.metadata.unresponsive.add if suspended else self.metadata.unresponsive.discard)(node_id)
        self.metadata.revision.advance()
        for listener in self.brokers[node_id].listeners:
            listener.set_suspended(suspended)
        self.watchers.touch()

    def _end_cut(self, node_id: int) -> bool:
        self.nodes[node_id].is_silent = False
        return self.leadership.cut_off.pop(node_id, None) is not None

    def start_broker(self, node_id: int) -> None:
        """Restart a stopped broker on the port that it used before."""
        self.check_node(node_id)
        if node_id in self.nodes or not self._addresses.is_reserved(node_id):
            raise ValueError(f"broker {node_id} is already running")
        if not self.leadership.has_controller:
            raise ValueError(f"broker {node_id} cannot start, because the controller is stopped")
        self._end_session(node_id)
        self.controller.fence_broker(node_id)  # Kafka waits for the end of an old session (ClusterControlManager)
        loop = self.host.loop
        try:
            broker = self._open_broker(node_id, loop)
            set_strays_aside(self.metadata, {node_id: broker.node})
            self.controller.update_replicas(broker.node)
            if not broker.node.directories.were_clean:
                self.leadership.node_was_killed(node_id)
            self.leadership.node_came(node_id)
            broker.node.resume_moves()
            self._start_listening(broker, loop)
        except BaseException:
            if node_id in self.nodes:
                self.stop_broker(node_id)
            raise
        self.controller.save()
        self.watchers.touch()

    def _close(self, *, keeps_ports: bool = False) -> None:
        """Stop the brokers. With `keeps_ports`, nothing else can take their ports until they are opened again."""
        if self._opening is not None:
            self._opening.stop()
            self._opening = None
        if self._periodic_tasks is not None:
            self._periodic_tasks.stop()
            self._periodic_tasks = None
            if self._metadata_store is not None and self._metadata_store.durable:
                self.leadership.leave_all_without_leader()
                with suppress(StorageFailed):
                    self.controller.save()
        for node_id in tuple(self._sessions):
            self._end_session(node_id)
        for node_id, broker in self.brokers.items():
            broker.close(discard=not broker.node.directories.durable)
            if keeps_ports:
                self._addresses.reserve(node_id)
        if self._workers is not None:
            self._workers.close()
            self._workers = None
        if self._faults is not None:
            self._faults.brokers_closed()
        self.brokers.clear()
        self._close_controller(keeps_ports=keeps_ports)
        self.controller.close()
        if not keeps_ports:
            self._addresses.release()
            self._controller_addresses.release()
        if self._metadata_store is not None:
            self._metadata_store.remove()
            self._metadata_store = None
        if self._overlay is not None:
            self._overlay.close_overlay()
            self._overlay = None
        self.watchers.touch()

    def _close_sockets(self) -> None:
        """Close the sockets in a child process after a fork."""
        for server in self.servers:
            for listener in server.listeners:
                listener.close_sockets()

    def client_directory(self) -> str:
        """Return a directory for files of clients, such as certificates. It is removed when the cluster stops."""
        if self._client_directory is None:
            import tempfile

            self._client_directory = tempfile.mkdtemp(prefix="kafkalet-clients-")
        return self._client_directory

    def _apply(self, short_forms: ShortForms) -> None:
        """Create certificates unless they exist. Undo changes of users from an earlier run of the cluster."""
        if self.users != short_forms.users:
            self.users = dict(short_forms.users)
            names = [each.name for each in self.listener_settings if each.protocol.has_sasl]
            self.config.static.update(short_forms.passwords_of(names))
        if not short_forms.tls or self.authority is not None:
            return
        from .security.tls.certificate_authority import CertificateAuthority
        from .security.tls.certificate_tools import take_tool

        hosts = [host for each in self.listener_settings for host in (each.host, (each.advertised or ("",))[0])]
        self.authority = CertificateAuthority(self.client_directory(), hosts, take_tool())
        made = self.authority.broker_properties()
        given = {name[: name.rindex(".")] for name in self._given_tls}  # ssl.keystore, for example
        self.config.static.update({name: made[name] for name in made if name[: name.rindex(".")] not in given})

    def _stop(self) -> None:
        self._close()
        self.refusing.clear()
        self._finish_removal()
        if self.authority is not None:
            from .security.tls.certificate_tools import give_back

            give_back(self.authority.tool)
            self.authority = None
        if self._client_directory is not None:
            import shutil

            shutil.rmtree(self._client_directory, ignore_errors=True)
            self._client_directory = None
        if self.journal is not None:
            self.journal.close()


def _brokers(first: int, count: int) -> str:
    return f"broker {first}" if count == 1 else f"brokers {first} to {first + count - 1}"


def _listed(each: Iterable[object]) -> str:
    return ", ".join(map(str, each)) or "none"
