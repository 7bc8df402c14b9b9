"""`kafkalet export`: prepares a data directory for Apache Kafka.

A broker of the release for which the directory is prepared opens and closes it. Thus it is recovered if necessary, and
everything in it is valid in that release. Then the metadata is written as a metadata log of KRaft, and a
`server.properties` for each broker.
"""

import os
import re
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.features import Features
from kafkalet.broker.cluster.kraft.exporting import write_metadata_log
from kafkalet.broker.cluster.metadata import NO_SEGMENT, MetadataImage
from kafkalet.broker.cluster.metadata_store import FILE, MetadataDamaged, MetadataStore, log_folder
from kafkalet.broker.config.broker_config import DEFAULT_NODE_ID
from kafkalet.broker.config.release import Release, UnknownRelease
from kafkalet.broker.network.addresses import CannotListen
from kafkalet.clock import SystemClock
from kafkalet.embedded import EmbeddedCluster
from kafkalet.formats import CLEAN_SHUTDOWN, META_PROPERTIES
from kafkalet.protocol.releases import RELEASES
from kafkalet.storage.directories import DirectoriesRefused
from kafkalet.storage.directory import LOCK, DirectoryInUse, lock_directory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.file_system import DISK
from kafkalet.storage.files import Files, explain
from kafkalet.storage.identity import IdentityRefused, read_identity
from kafkalet.units import counted

from .command_line import HELP_OPTION, Failure, Option, UsageError, parse, print_line

LAST = RELEASES[-2]
HELP = """Prepares a data directory for Apache Kafka with KRaft: writes a metadata log with its topics, configurations,
ACLs, SCRAM credentials, delegation tokens and quotas, and the properties with which Kafka opens it. No broker may use
the directory."""
OPTIONS = (
    Option("--data-dir", "DIR", "directory of kafkalet serve --data-dir; repeated as there", repeatable=True),
    Option(
        "--to",
        "DIR",
        "prepare a copy in this new directory; the original is not changed; repeated for each --data-dir",
        repeatable=True,
    ),
    Option("--kafka-version", "VERSION", f"the release that will open the directory ({LAST})"),
    HELP_OPTION,
)
BROKER_FOLDER = re.compile(r"broker-(0|[1-9][0-9]*)", re.ASCII)
FIRST_PORT = 9092


class Export(NamedTuple):
    """The options of `export`."""

    data_dirs: list[str]
    to: list[str]
    """Where the copies are made; empty if the directories themselves are prepared."""
    release: Release


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status. Raises UsageError, Failure."""
    given = parse(arguments, OPTIONS, "export")
    if "help" in given:
        from .help import help_page

        print_line(help_page("kafkalet export --data-dir DIR [OPTION]...", HELP, OPTIONS).rstrip("\n"))
        return 0
    options = _options(given)
    try:
        _export(options)
    except (DirectoryInUse, DirectoriesRefused, IdentityRefused, MetadataDamaged, StorageFailed, CannotListen) as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(explain(error)) from error
    return 0


def _options(given: dict[str, list[str]]) -> Export:
    data_dirs, to = ([os.path.abspath(path) for path in given.get(name, [])] for name in ("data-dir", "to"))
    if not data_dirs:
        raise UsageError("--data-dir is missing; it names the directory to prepare for Apache Kafka")
    if to and len(to) != len(data_dirs):
        copies, directories = counted(len(to), "time"), counted(len(data_dirs), "time")
        raise UsageError(f"--to is given {copies}, --data-dir {directories}; name a copy for each")
    try:
        release = Release.of(*given.get("kafka-version", [LAST]))
    except UnknownRelease as error:
        raise UsageError(f"--kafka-version: {error}") from error
    if not _levels(release, MetadataImage("")):
        raise UsageError(f"--kafka-version {release.name}: expected a release with KRaft, 3.3 to {LAST}")
    return Export(data_dirs, to, release)


def _levels(release: Release, image: MetadataImage) -> dict[str, int]:
    """Return the levels of the features in a release; none if it has no features, and no KRaft."""
    return dict(Features(release, image).finalized())


class Layout(NamedTuple):
    """Data directories, and the ids of the brokers that keep their logs in them."""

    directories: list[str]
    node_ids: list[int]

    @property
    def paths(self) -> dict[int, list[str]]:
        """The log directories of each broker."""
        if len(self.node_ids) == 1:
            return {self.node_ids[0]: self.directories}
        return {
            node_id: [os.path.join(path, log_folder(node_id)) for path in self.directories] for node_id in self.node_ids
        }


def layout_of(directories: Sequence[str]) -> Layout:
    """Return the layout of data directories. Raises Failure if there is none, IdentityRefused, MetadataDamaged."""
    first = directories[0]
    for directory in directories:
        if not os.path.isdir(directory):
            raise Failure(f"{directory} is not a directory")
    names = os.listdir(first)
    node_ids = sorted(
        int(found[1])
        for name in names
        if (found := BROKER_FOLDER.fullmatch(name)) and os.path.exists(os.path.join(first, name, META_PROPERTIES))
    )
    if not node_ids:
        if FILE not in names and META_PROPERTIES not in names:
            raise Failure(f"{first} is not a data directory: it contains neither {FILE} nor {META_PROPERTIES}")
        node_ids = [_only_node_id(first)]
    if node_ids != list(range(node_ids[0], node_ids[0] + len(node_ids))):
        raise Failure(f"{first}: the broker ids {', '.join(map(str, node_ids))} are not consecutive")
    return Layout(list(directories), node_ids)


def _only_node_id(directory: str) -> int:
    """Return the id of the only broker, from the saved partitions or from meta.properties."""
    saved = MetadataStore(directory).load()
    if saved is not None:
        held_by = {node_id for _, state in saved[0].all_partitions() for node_id in state.replicas}
        if held_by:
            return min(held_by)
    identity = read_identity(Files(), directory)
    return DEFAULT_NODE_ID if identity is None or identity.node_id is None else identity.node_id


def _export(options: Export) -> None:
    layout = layout_of(options.data_dirs)
    if options.to:
        layout = _copied(layout, options.to)
    _open_and_close(layout, options.release)
    first = layout.directories[0]
    store = MetadataStore(first)
    saved = store.load()
    assert saved is not None  # closing the brokers has saved it
    image, next_producer_id = saved
    levels = _levels(options.release, image)
    now_ms = SystemClock().now_ms()
    image.metadata_log = NO_SEGMENT  # the log has a segment as soon as Kafka has used it
    store.save(image, next_producer_id)
    count = write_metadata_log(image, next_producer_id, levels, layout.paths, store.files, now_ms)
    print_line(f"prepared {first} for Apache Kafka {options.release.name}: {count} metadata records")
    for node_id in layout.node_ids:
        file = os.path.join(first, f"server-{node_id}.properties")
        properties = server_properties(node_id, layout, has_acls=any(image.acls))
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        store.files.replace(file, f"{_HEADING}{text}".encode())
        print_line(f"bin/kafka-server-start.sh {file}")


def _copied(layout: Layout, to: Sequence[str]) -> Layout:
    """Copy data directories that no broker uses. Return the layout of the copies. Raises DirectoryInUse, OSError."""
    for path in to:
        if os.path.exists(path) and os.listdir(path):
            raise Failure(f"--to {path}: the directory is not empty; name a new one")
    locks: list[int] = []
    try:
        for paths in layout.paths.values():
            locks += [lock_directory(path) for path in paths]
        for source, target in zip(layout.directories, to, strict=True):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(LOCK), dirs_exist_ok=True)
    finally:
        for lock in locks:
            DISK.close(lock)
    return layout._replace(directories=list(to))


def _open_and_close(layout: Layout, release: Release) -> None:
    """Open the directories with brokers, which recover them if necessary, and close them cleanly. Raises Failure."""
    first, count = layout.node_ids[0], len(layout.node_ids)
    config = {} if first == DEFAULT_NODE_ID else {"node.id": first}
    with EmbeddedCluster(count, data_dir=layout.directories, version=release.name, config=config):
        pass
    for paths in layout.paths.values():
        for path in paths:
            if not os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)):
                raise Failure(f"{path} could not be closed cleanly; the lines above say why")


_HEADING = """\
# Written by kafkalet export, which replaces this file. The logs and their metadata are in log.dirs.
"""


def server_properties(node_id: int, layout: Layout, *, has_acls: bool) -> dict[str, str]:
    """Return the properties with which Kafka opens the log directories of a broker. The first one is the controller."""
    first, brokers = layout.node_ids[0], len(layout.node_ids)
    port = FIRST_PORT + (node_id - first) + (node_id > first)  # the controller has the second port
    listener, controller = f"PLAINTEXT://localhost:{port}", f"localhost:{FIRST_PORT + 1}"
    properties = {
        "process.roles": "broker,controller" if node_id == first else "broker",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{first}@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{listener},CONTROLLER://{controller}" if node_id == first else listener,
        "advertised.listeners": listener,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": ",".join(layout.paths[node_id]),
    }
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        properties[f"{topic}.replication.factor"] = str(min(brokers, 3))
    for topic in ("transaction.state.log", "share.coordinator.state.topic"):
        properties[f"{topic}.min.isr"] = str(min(brokers, 2))
    if has_acls:
        properties["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        properties["super.users"] = "User:ANONYMOUS"
    return properties
