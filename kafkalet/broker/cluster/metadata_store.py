"""The data directories of a cluster and its metadata file.

    DIR/                        a log directory, if there is one broker
    DIR/broker-<node id>/       a log directory of each broker, if there are several
    DIR/kafkalet.json           in the first data directory: topics, ids, configurations, leaders, quotas, features,
                                ACLs, credentials, tokens, the next producer id

There are several data directories if the brokers have several log directories (`log.dirs`).

Logs have Kafka's format. Apache Kafka stores its metadata in a log of the controller, which kafkalet only reads
(kraft/). Here the metadata is a small file, which every change replaces atomically by a rename. If there is neither,
the topics and partitions are inferred from the names of the log folders, and the topic ids are read from their
partition.metadata files.

A cluster without a data directory uses a temporary one, which is deleted when the cluster stops.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalet.broker.quoting import quoted, shown
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.formats import METADATA_TOPIC
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.file_system import DISK, FileSystem
from kafkalet.storage.files import Files, make_directories, replace_file

from .metadata import NO_LEADER, MetadataImage, PartitionState, TopicState, check_topic_name, new_topic_id

if TYPE_CHECKING:  # imported with the first snapshot
    from kafkalet.storage.image import Image, StoredFile

_LOG = logging.getLogger(__name__)

MOST_MISSING_PARTITIONS = 10_000
"""The largest gap allowed in the partition numbers of a topic's folders.

Folders beyond a larger gap are ignored. Kafka's controller writes at most this many records in one batch.
"""
PARTITIONS_PER_TEXT = 500
"""How many partitions are encoded together. After a change, only these are encoded again."""
MAX_INT32 = (1 << 31) - 1
MAX_INT64 = (1 << 63) - 1
ID_BYTES = 16
FILE = "kafkalet.json"
FORMAT = 1
METADATA_LOG = f"{METADATA_TOPIC}-0"
"""The directory of Apache Kafka's metadata log, in one of the log directories of a broker."""
BOOTSTRAP = "bootstrap.checkpoint"
"""The first records of a metadata log, with which Kafka's storage tool formats the log directories."""


class MetadataDamaged(Exception):
    """Raised if the metadata file of a data directory cannot be read. The message contains the path and the reason."""


class LoadedMetadata(NamedTuple):
    """The metadata of a data directory."""

    image: MetadataImage
    next_producer_id: int
    is_complete: bool = False
    """Whether the metadata contains all topics: directories of other topics do not belong to the cluster (strays)."""
    has_producer_ids: bool = True
    """Whether the next producer id is known. Otherwise, the ids that are in use have to be found in the logs."""
    is_new: bool = False
    """Whether the data directory has no metadata yet."""


class MetadataStore:
    """The data directories of a cluster. The first one contains the metadata; the `further` ones contain only logs.

    `durable` is False for a temporary directory, which is never synced to disk.
    """

    def __init__(self, data_dir: str | None, system: FileSystem = DISK, further: Sequence[str] = ()) -> None:
        self.durable = data_dir is not None
        self.path = os.path.abspath(data_dir) if data_dir is not None else _temporary()
        self._further = [os.path.abspath(path) for path in further]
        self.files = Files(durable=self.durable, system=system)
        self._texts: dict[bytes, list[_Text]] = {}
        """The encoded partitions of the topics, keyed by topic id."""
        self._lock = Lock()
        self._encoded = 0
        """How often the metadata has been encoded."""
        self._written = 0
        """Which encoding was last written, counted in the same way."""
        make_directories(self.path, system)

    @property
    def file(self) -> str:
        """The path of the metadata file."""
        return os.path.join(self.path, FILE)

    def log_directories(self, node_id: int, brokers: int) -> list[str]:
        """Return the paths of a broker's log directories."""
        paths = [self.path, *self._further]
        return paths if brokers == 1 else [os.path.join(path, log_folder(node_id)) for path in paths]

    def fill(self, files: Image) -> None:
        """Write an image of the data directories, which must be empty. Raises OSError."""
        from kafkalet.storage.image import write_image

        further = {further_prefix(place): path for place, path in enumerate(self._further, 1)}
        parts: dict[str, dict[str, StoredFile]] = {path: {} for path in (self.path, *self._further)}
        for name, file in files.items():
            prefix = name[: name.find("/") + 1]
            if prefix in further:
                parts[further[prefix]][name.removeprefix(prefix)] = file
            elif name != FILE:
                parts[self.path][name] = file
        for path, part in parts.items():
            write_image(path, part)
        if FILE in files:
            replace_file(self.file, files[FILE].data, durable=False, private=True)

    def erase(self, node_ids: Iterable[int]) -> None:
        """Remove the metadata and the logs of these brokers, which must not be running. Raises OSError."""
        from kafkalet.storage.image import erase

        node_ids = list(node_ids)
        for node_id in node_ids:
            for path in self.log_directories(node_id, len(node_ids)):
                erase(path)
        if os.path.exists(self.file):
            os.unlink(self.file)

    def remove(self) -> None:
        """Delete the directory if it is temporary."""
        if not self.durable:
            import shutil

            shutil.rmtree(self.path, ignore_errors=True)

    def save(self, image: MetadataImage, next_producer_id: int) -> None:
        """Write the metadata. A temporary cluster writes nothing, because it is never restarted.

        The file is readable only by its owner if it contains credentials, tokens or properties (which may be
        passwords).
        """
        if self.durable:
            self.writing(image, next_producer_id)()

    def writing(self, image: MetadataImage, next_producer_id: int) -> Callable[[], None]:
        """Return a function that writes the metadata as it is now. It may run in any thread, and raises OSError.

        It does nothing if later metadata has been written before. The store must be durable.
        """
        private, data = image.may_contain_secrets, self.encode(image, next_producer_id, self._texts)
        self._encoded = number = self._encoded + 1

        def write() -> None:
            with self._lock:
                if number > self._written:
                    replace_file(self.file, data, durable=True, private=private, system=self.files.system)
                    self._written = number

        return write

    def encode_early(self, topic: TopicState) -> None:
        """Encode the partitions of a topic that will be saved soon, to save that time later."""
        _partition_texts(topic, self._texts)

    @staticmethod
    def encode(image: MetadataImage, next_producer_id: int, texts: dict[bytes, list[_Text]] | None = None) -> bytes:
        """Return the contents of the metadata file. `texts` are the encoded partitions of each topic, if known."""
        import json

        properties = {
            "format": FORMAT,
            "cluster_id": image.cluster_id,
            "next_producer_id": next_producer_id,
            "broker_config": [[node, config] for node, config in image.broker_config.items()],
            "group_config": image.group_config,
            "client_metrics": image.client_metrics,
            "client_quotas": [[sorted(entity), values] for entity, values in image.client_quotas.items()],
            "features": {"levels": image.feature_levels, "changes": image.feature_changes},
            "acls": list(image.acls),
        }
        if image.metadata_log is not None:
            properties["metadata_log"] = image.metadata_log
        if image.scram_credentials or image.delegation_tokens:
            from .credentials_json import credentials_to_json

            properties |= credentials_to_json(image)
        # One line for each property and each topic: with `indent`, json.dumps is seven times slower, because only its
        # compact form is implemented in C.
        texts = {} if texts is None else texts
        topics = ",\n".join([_topic_text(topic, texts) for topic in image.topics.values()])
        for topic_id in [topic_id for topic_id in texts if image.topic_by_id(topic_id) is None]:
            del texts[topic_id]
        lines = [f'"{name}": {json.dumps(value)}' for name, value in properties.items()]
        text = "{\n" + ",\n".join([*lines, f'"topics": [\n{topics}\n]']) + "\n}\n"
        return text.encode()

    def load(self) -> tuple[MetadataImage, int] | None:
        """Return the saved metadata and the next producer id, or None if nothing has been saved."""
        try:
            data = self.files.read_all(self.file)
        except FileNotFoundError:
            return None
        return self.decode(data, self.file)

    @staticmethod
    def decode(data: bytes, path: str) -> tuple[MetadataImage, int]:
        """Return the metadata and the next producer id. `path` is named in exceptions. Raises MetadataDamaged."""
        import json

        try:
            saved = json.loads(data)
            if saved["format"] != FORMAT:
                raise MetadataDamaged(
                    f"{path}: format {_shown(saved['format'])} is not supported; this version reads only {FORMAT}"
                )
            image = MetadataImage(_text(saved["cluster_id"]))
            image.broker_config = {
                None if node is None else _number(node): _texts(config) for node, config in saved["broker_config"]
            }
            _administration_from_json(saved, image)
            if "scram_credentials" in saved:
                from .credentials_json import load_credentials

                load_credentials(saved, image)
            for topic in _topics_from_json(saved["topics"]):
                if topic.name in image.topics or image.topic_by_id(topic.topic_id) is not None:
                    raise ValueError(f"topic {topic.name} is listed twice")
                image.add_topic(topic)
            return image, _number(saved["next_producer_id"], 0, MAX_INT64)
        except KeyError as error:
            raise MetadataDamaged(f"{path}: {error} is missing") from error
        except (ValueError, TypeError, AttributeError, RecursionError, KafkaError) as error:
            raise MetadataDamaged(f"{path}: {error}") from error


def log_folder(node_id: int) -> str:
    """Return the name of a broker's log directory in a cluster of several brokers."""
    return f"broker-{node_id}"


def further_prefix(place: int) -> str:
    """Return the prefix that the files of a further data directory have in an image. `place` is at least 1."""
    return f"data-directory-{place}/"


class Folder(NamedTuple):
    """The log folder of a partition in the directory of a broker."""

    node_id: int
    topic: str
    partition: int
    topic_id: bytes | None


def add_found_logs(image: MetadataImage, folders: Iterable[Folder]) -> None:
    """Add the logs that were found on disk to the metadata. `folders` are sorted by partition.

    Afterwards a topic has its partitions from the metadata and those that have a folder. Missing partitions with lower
    numbers must have been on other brokers; they are added without replicas and without a leader. A folder with a much
    higher number than the others is ignored, because it probably belongs not to a partition but to something like
    backup-20240101.
    """
    saved = set(image.topics)
    for folder in folders:
        reason = _reason_against(image, folder, known=folder.topic in saved)
        if reason:
            _LOG.warning("ignoring folder %s: %s", quoted(f"{folder.topic}-{folder.partition}"), shown(reason))
            continue
        if folder.topic not in image.topics:
            image.add_topic(TopicState(folder.topic, folder.topic_id or new_topic_id(), [], {}))
        partitions = image.topics[folder.topic].partitions
        while len(partitions) < folder.partition:
            partitions.append(PartitionState(len(partitions), []))
        if folder.partition == len(partitions):
            partitions.append(PartitionState(folder.partition, [folder.node_id]))
        elif not partitions[folder.partition].replicas:
            partitions[folder.partition] = PartitionState(folder.partition, [folder.node_id])


def _reason_against(image: MetadataImage, folder: Folder, *, known: bool) -> str:
    """Return the reason why a folder cannot be added to the metadata as a partition, or "" if it can."""
    topic = image.topics.get(folder.topic)
    partitions = 0 if topic is None else len(topic.partitions)
    if folder.partition - partitions > MOST_MISSING_PARTITIONS:
        return f"more than {MOST_MISSING_PARTITIONS} partitions before it are missing"
    if topic is None:
        other = image.topic_by_id(folder.topic_id or b"")
        return "" if other is None else f"it has the id of topic {other.name}"
    if known and folder.partition >= partitions and folder.topic_id != topic.topic_id:
        return f"it belongs to another topic than the {folder.topic} in the metadata"
    return ""


def _temporary() -> str:
    """Create a directory in the system's temporary directory.

    This does what tempfile does, without the cost of importing that module.
    """
    places = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", os.getcwd()]  # noqa: S108
    base = next(place for place in places if place and os.path.isdir(place))
    path = os.path.join(base, f"kafkalet-{os.getpid()}-{os.urandom(6).hex()}")
    os.mkdir(path, 0o700)
    return path


class _Text(NamedTuple):
    """Some partitions of a topic with their epochs and their encoded text.

    Every change of a partition changes an epoch.
    """

    states: list[PartitionState]
    epochs: list[tuple[int, int]]
    text: str


def _topic_text(topic: TopicState, texts: dict[bytes, list[_Text]]) -> str:
    import json

    head = json.dumps({"name": topic.name, "id": topic.topic_id.hex(), "config": topic.config})
    return f'{head[:-1]}, "partitions": [{", ".join(_partition_texts(topic, texts))}]}}'


def _partition_texts(topic: TopicState, texts: dict[bytes, list[_Text]]) -> list[str]:
    """Encode the partitions of a topic. Unchanged ones are taken from `texts`, which is updated with the others."""
    known = texts.setdefault(topic.topic_id, [])
    for number, at in enumerate(range(0, len(topic.partitions), PARTITIONS_PER_TEXT)):
        states = topic.partitions[at : at + PARTITIONS_PER_TEXT]
        epochs = [(state.leader_epoch, state.partition_epoch) for state in states]
        if number < len(known) and known[number].states == states and known[number].epochs == epochs:
            continue
        known[number : number + 1] = [_Text(states, epochs, _partitions_to_json(states))]
    del known[-(-len(topic.partitions) // PARTITIONS_PER_TEXT) :]
    return [text.text for text in known]


def _partitions_to_json(states: list[PartitionState]) -> str:
    """Return the text of these partitions, without the brackets of an array."""
    import json

    partitions = [
        {
            "replicas": partition.replicas,
            "isr": partition.isr,
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "adding": partition.adding,
            "removing": partition.removing,
            "elr": partition.elr,
            "last_known_elr": partition.last_known_elr,
        }
        for partition in states
    ]
    return json.dumps(partitions)[1:-1]


def _administration_from_json(saved: dict[str, Any], image: MetadataImage) -> None:
    """Load the properties that are missing from files written by earlier versions of kafkalet."""
    image.group_config = {name: _texts(config) for name, config in saved.get("group_config", {}).items()}
    image.client_metrics = {name: _texts(config) for name, config in saved.get("client_metrics", {}).items()}
    for entity, values in saved.get("client_quotas", []):
        parts = frozenset((_text(kind), None if name is None else _text(name)) for kind, name in entity)
        image.client_quotas[parts] = {name: float(value) for name, value in values.items()}
    image.metadata_log = None
    if "metadata_log" in saved:
        segment, size = saved["metadata_log"]
        image.metadata_log = _text(segment), _number(size, 0, MAX_INT64)
    features = saved.get("features", {"levels": {}, "changes": 0})
    image.feature_levels = {name: _number(level) for name, level in features["levels"].items()}
    image.feature_changes = _number(features["changes"])
    for kind, pattern, name, principal, host, operation, permission in saved.get("acls", []):
        acl = Acl(
            ResourceType(kind),
            PatternType(pattern),
            _text(name),
            _text(principal),
            _text(host),
            Operation(operation),
            Permission(permission),
        )
        image.acls.add(acl)


def _topics_from_json(saved: list[dict[str, Any]]) -> Iterator[TopicState]:
    for topic in saved:
        name, topic_id = _text(topic["name"]), bytes.fromhex(topic["id"])
        check_topic_name(name)
        if len(topic_id) != ID_BYTES:
            raise ValueError(f"{topic['id']!r} is not a topic id")
        partitions = []
        for index, entry in enumerate(topic["partitions"]):
            state = PartitionState(index, _nodes(entry["replicas"]))
            state.restore(
                isr=_nodes(entry["isr"]),
                leader=_number(entry["leader"], NO_LEADER),
                leader_epoch=_number(entry["leader_epoch"], -1),
                partition_epoch=_number(entry["partition_epoch"], -1),
                adding=_nodes(entry.get("adding", [])),
                removing=_nodes(entry.get("removing", [])),
                elr=_nodes(entry.get("elr", [])),
                last_known_elr=_nodes(entry.get("last_known_elr", [])),
            )
            partitions.append(state)
        yield TopicState(name, topic_id, partitions, _texts(topic["config"]))


def _number(value: Any, least: int = 0, most: int = MAX_INT32) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{_shown(value)} is not a number from {least} to {most}")
    return value


def _nodes(value: Any) -> list[int]:
    return [_number(node) for node in value]


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{_shown(value)} is not a string")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(each) for name, each in value.items()}


def _shown(value: Any) -> str:
    """Return the text of a value for a one-line error message."""
    return repr(value)[:100]
