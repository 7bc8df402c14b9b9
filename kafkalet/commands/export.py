"""`kafkalet export`: prepares a data directory for Apache Kafka.

The directory is opened and closed by a broker of the release for which it is prepared. So it is recovered if necessary,
and everything in it is valid in that release. Then the metadata is written as a metadata log of KRaft, and a
`server.properties` for each broker.
"""

import os
import re
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.kraft.exporting import write_metadata_log
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.metadata_store import FILE, MetadataDamaged, MetadataStore
from kafkalet.broker.config.broker_config import DEFAULT_NODE_ID
from kafkalet.broker.config.features import Features
from kafkalet.broker.config.release import Release, UnknownRelease
from kafkalet.broker.network.addresses import CannotListen
from kafkalet.clock import SystemClock
from kafkalet.embedded import EmbeddedCluster
from kafkalet.protocol.releases import RELEASES
from kafkalet.storage.checkpoints import CLEAN_SHUTDOWN
from kafkalet.storage.directory import LOCK, DirectoryInUse, lock_directory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.file_system import DISK
from kafkalet.storage.files import Files, explain
from kafkalet.storage.identity import META_PROPERTIES, IdentityRefused, read_identity

from .command_line import Failure, Option, UsageError, parse, print_line

LAST = RELEASES[-2]
HELP = f"""usage: kafkalet export --data-dir DIR [--to DIR] [--kafka-version VERSION]

Prepares a data directory for Apache Kafka with KRaft: writes a metadata log with its topics,
configurations, ACLs, SCRAM credentials, delegation tokens and quotas, and the properties with
which Kafka opens it. No broker may use the directory.

  --data-dir DIR     directory of kafkalet serve --data-dir
  --to DIR           prepare a copy in this new directory; the original is not changed
  --kafka-version VERSION
                     the release that will open the directory ({LAST})
  -h, --help         show this help and exit"""
OPTIONS = (
    Option("--data-dir", "DIR", ""),
    Option("--to", "DIR", ""),
    Option("--kafka-version", "VERSION", ""),
    Option("--help", "", "", aliases=("-h",)),
)
BROKER_FOLDER = re.compile(r"broker-(0|[1-9][0-9]*)", re.ASCII)
FIRST_PORT = 9092


class Export(NamedTuple):
    """The options of `export`."""

    data_dir: str
    to: str | None
    release: Release


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status. Raises UsageError, Failure."""
    given = parse(arguments, OPTIONS)
    if "help" in given:
        print_line(HELP)
        return 0
    options = _options({name: values[0] for name, values in given.items()})
    try:
        _export(options)
    except (DirectoryInUse, IdentityRefused, MetadataDamaged, StorageFailed, CannotListen) as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(explain(error)) from error
    return 0


def _options(given: dict[str, str]) -> Export:
    if "data-dir" not in given:
        raise UsageError("--data-dir is missing; it names the directory to prepare for Apache Kafka")
    try:
        release = Release.of(given.get("kafka-version", LAST))
    except UnknownRelease as error:
        raise UsageError(f"--kafka-version: {error}") from error
    if not supports_kraft(release):
        raise UsageError(f"--kafka-version {release.name}: expected a release with KRaft, 3.3 to {LAST}")
    return Export(os.path.abspath(given["data-dir"]), os.path.abspath(given["to"]) if "to" in given else None, release)


def supports_kraft(release: Release) -> bool:
    return bool(Features(release, MetadataImage("")).supported)


class Layout(NamedTuple):
    """The brokers of a data directory, and where they keep their logs."""

    directory: str
    paths: dict[int, str]
    """The log directory of each broker by id."""

    @property
    def first_node_id(self) -> int:
        return min(self.paths)


def layout_of(directory: str) -> Layout:
    """Return the layout of a data directory. Raises Failure if it does not contain any, IdentityRefused."""
    if not os.path.isdir(directory):
        raise Failure(f"{directory} is not a directory")
    names = sorted(os.listdir(directory))
    folders = {int(found[1]): name for name in names if (found := BROKER_FOLDER.fullmatch(name))}
    brokers = {
        node_id: path
        for node_id, name in sorted(folders.items())
        if os.path.exists(os.path.join(path := os.path.join(directory, name), META_PROPERTIES))
    }
    if brokers:
        return Layout(directory, brokers)
    if FILE not in names and META_PROPERTIES not in names:
        raise Failure(f"{directory} is not a data directory: it contains neither {FILE} nor {META_PROPERTIES}")
    return Layout(directory, {_only_node_id(directory): directory})


def _only_node_id(directory: str) -> int:
    """Return the id of the only broker: that of the saved partitions, or of meta.properties."""
    saved = MetadataStore(directory).load()
    if saved is not None:
        held_by = {node_id for _, state in saved[0].all_partitions() for node_id in state.replicas}
        if held_by:
            return min(held_by)
    identity = read_identity(Files(), directory)
    return DEFAULT_NODE_ID if identity is None or identity.node_id is None else identity.node_id


def _export(options: Export) -> None:
    layout = layout_of(options.data_dir)
    if options.to is not None:
        layout = _copied(layout, options.to)
    _open_and_close(layout, options.release)
    store = MetadataStore(layout.directory)
    saved = store.load()
    assert saved is not None  # closing the brokers has saved it
    image, next_producer_id = saved
    levels = dict(Features(options.release, image).finalized())
    count = write_metadata_log(
        image,
        next_producer_id,
        levels,
        {node_id: [path] for node_id, path in layout.paths.items()},
        store.files,
        SystemClock().now_ms(),
    )
    print_line(f"prepared {layout.directory} for Apache Kafka {options.release.name}: {count} metadata records")
    for node_id, path in layout.paths.items():
        file = os.path.join(layout.directory, f"server-{node_id}.properties")
        properties = server_properties(node_id, path, layout, options.release, has_acls=any(image.acls))
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        store.files.replace(file, f"{_HEADING}{text}".encode())
        print_line(f"bin/kafka-server-start.sh {file}")


def _copied(layout: Layout, to: str) -> Layout:
    """Copy a data directory that no broker uses. Return the layout of the copy. Raises DirectoryInUse, OSError."""
    if os.path.exists(to) and os.listdir(to):
        raise Failure(f"--to {to}: the directory is not empty; name a new one")
    locks = [lock_directory(path) for path in layout.paths.values()]
    try:
        shutil.copytree(layout.directory, to, ignore=shutil.ignore_patterns(LOCK), dirs_exist_ok=True)
    finally:
        for lock in locks:
            DISK.close(lock)
    return Layout(to, {node_id: to + path[len(layout.directory) :] for node_id, path in layout.paths.items()})


def _open_and_close(layout: Layout, release: Release) -> None:
    """Open the directory with brokers, which recover it if necessary, and close it cleanly. Raises Failure."""
    first = layout.first_node_id
    if list(layout.paths) != list(range(first, first + len(layout.paths))):
        ids = ", ".join(map(str, layout.paths))
        raise Failure(
            f"{layout.directory}: the ids of the brokers, {ids}, are not consecutive; kafkalet cannot open it"
        )
    config = {} if first == DEFAULT_NODE_ID else {"node.id": first}
    with EmbeddedCluster(len(layout.paths), data_dir=layout.directory, kafka_version=release.name, config=config):
        pass
    for path in layout.paths.values():
        if not os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)):
            raise Failure(f"{path} could not be closed cleanly; the lines above say why")


_HEADING = """\
# Written by kafkalet export, which replaces this file. The logs and their metadata are in log.dirs.
"""


def server_properties(node_id: int, path: str, layout: Layout, release: Release, *, has_acls: bool) -> dict[str, str]:
    """Return the properties with which Kafka opens the log directory of a broker. The first one is the controller."""
    first, brokers = layout.first_node_id, len(layout.paths)
    port = FIRST_PORT + (node_id - first) + (node_id > first)  # the controller has the second port
    listeners = [f"PLAINTEXT://localhost:{port}"]
    controller = f"localhost:{FIRST_PORT + 1}"
    properties = {
        "process.roles": "broker,controller" if node_id == first else "broker",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{first}@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join([*listeners, *([f"CONTROLLER://{controller}"] if node_id == first else [])]),
        "advertised.listeners": listeners[0],
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": path,
    }
    replicas = str(min(brokers, 3))
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        properties[f"{topic}.replication.factor"] = replicas
    for topic in ("transaction.state.log", "share.coordinator.state.topic"):
        properties[f"{topic}.min.isr"] = str(min(brokers, 2))
    if has_acls:
        properties["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        properties["super.users"] = "User:ANONYMOUS"
    return properties
