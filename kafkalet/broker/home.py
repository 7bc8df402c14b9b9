"""Where a cluster keeps its files, and what it remembers beside its logs.

    DIR/                        one broker: its log directory
    DIR/broker-<node id>/       several brokers: one log directory each
    DIR/kafkalet.json           topics, ids, configurations, leaders, quotas, features, the next producer id

Logs are in Kafka's own format. Apache Kafka keeps its metadata in a log of the controller; here it is one small file,
written anew and put in place by a rename with each change. A directory without that file (one that Apache Kafka wrote)
is taken as it stands: topics and partitions are read off the folders, ids off their partition.metadata.

Without a directory of its own a cluster lives in a temporary one that goes away with it.
"""

import logging
import os
from collections.abc import Iterator
from typing import Any

from kafkalet.storage.files import replace_file

from .metadata import MetadataImage, PartitionState, TopicState, new_topic_id

_LOG = logging.getLogger(__name__)

MOST_MISSING_PARTITIONS = 10_000
"""As many records as Kafka's controller writes at once, so a topic can hardly have grown by more."""
FILE = "kafkalet.json"
FORMAT = 1


class HomeDamaged(Exception):
    """The metadata file of a data directory cannot be read. The text names the file and says why."""


class Home:
    """The directory of a cluster. `durable` is False for a temporary one, where nothing is forced to the disk."""

    def __init__(self, data_dir: str | None) -> None:
        self.durable = data_dir is not None
        self.path = os.path.abspath(data_dir) if data_dir is not None else _temporary()
        os.makedirs(self.path, exist_ok=True)

    def log_directory(self, node_id: int, brokers: int) -> str:
        return self.path if brokers == 1 else os.path.join(self.path, f"broker-{node_id}")

    def remove(self) -> None:
        """Delete a temporary directory; a durable one stays."""
        if not self.durable:
            import shutil

            shutil.rmtree(self.path, ignore_errors=True)

    def save(self, image: MetadataImage, next_producer_id: int) -> None:
        """Write the metadata. A temporary cluster has nobody to read it and writes nothing."""
        if not self.durable:
            return
        import json

        text = json.dumps(
            {
                "format": FORMAT,
                "cluster_id": image.cluster_id,
                "next_producer_id": next_producer_id,
                "broker_config": [[node, config] for node, config in image.broker_config.items()],
                "group_config": image.group_config,
                "client_metrics": image.client_metrics,
                "client_quotas": [[sorted(entity), values] for entity, values in image.client_quotas.items()],
                "features": {"levels": image.feature_levels, "changes": image.feature_changes},
                "topics": [_topic_to_json(topic) for topic in image.topics.values()],
            },
            indent=1,
        )
        replace_file(os.path.join(self.path, FILE), text.encode(), durable=True)

    def load(self) -> tuple[MetadataImage, int] | None:
        """The metadata as it was saved last and the next producer id; None where nothing was saved."""
        if not self.durable:
            return None
        import json

        path = os.path.join(self.path, FILE)
        try:
            with open(path, encoding="utf-8") as file:
                saved = json.load(file)
            if saved["format"] != FORMAT:
                raise HomeDamaged(f"{path}: format {saved['format']} is not known, only {FORMAT} is")
            image = MetadataImage(saved["cluster_id"])
            image.broker_config = {node: dict(config) for node, config in saved["broker_config"]}
            _administration_from_json(saved, image)
            for topic in _topics_from_json(saved["topics"]):
                image.add_topic(topic)
            return image, int(saved["next_producer_id"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise HomeDamaged(f"{path}: {type(error).__name__}: {error}") from error


def take_in_folder(image: MetadataImage, node_id: int, name: str, index: int, topic_id: bytes | None) -> None:
    """Take the log of a partition into the metadata that was found in the directory of a broker.

    A topic has the partitions that the metadata names, and those whose folders are there. Partitions between them, of
    which there is no folder, were on other brokers: they belong to the topic, but have no replica and no leader. A
    number far above all others is no partition's, but such a name as backup-20240101.
    """
    topic = image.topics.get(name)
    if topic is None:
        topic = TopicState(name, topic_id or new_topic_id(), [], {})
    elif topic_id is not None and topic_id != topic.topic_id:
        if index >= len(topic.partitions):
            _LOG.warning("%s-%d is of another topic of that name and is left alone", name, index)
        return
    partitions = topic.partitions
    if index - len(partitions) > MOST_MISSING_PARTITIONS:
        _LOG.warning(
            "%s-%d is left alone: of the partitions before it more than %d are missing",
            name,
            index,
            MOST_MISSING_PARTITIONS,
        )
        return
    while len(partitions) < index:
        partitions.append(PartitionState(len(partitions), []))
    if index == len(partitions):
        partitions.append(PartitionState(index, [node_id]))
    elif not partitions[index].replicas:
        partitions[index] = PartitionState(index, [node_id])
    image.add_topic(topic)


def _temporary() -> str:
    """A new directory of our own where the system keeps temporary files (the work of tempfile, without its import)."""
    places = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", os.getcwd()]  # noqa: S108
    base = next(place for place in places if place and os.path.isdir(place))
    path = os.path.join(base, f"kafkalet-{os.getpid()}-{os.urandom(6).hex()}")
    os.mkdir(path, 0o700)
    return path


def _topic_to_json(topic: TopicState) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": topic.topic_id.hex(),
        "config": topic.config,
        "partitions": [
            {
                "replicas": partition.replicas,
                "isr": partition.isr,
                "leader": partition.leader,
                "leader_epoch": partition.leader_epoch,
                "partition_epoch": partition.partition_epoch,
                "adding": partition.adding,
                "removing": partition.removing,
            }
            for partition in topic.partitions
        ],
    }


def _administration_from_json(saved: dict[str, Any], image: MetadataImage) -> None:
    """What a file of an earlier kafkalet may lack."""
    image.group_config = {name: dict(config) for name, config in saved.get("group_config", {}).items()}
    image.client_metrics = {name: dict(config) for name, config in saved.get("client_metrics", {}).items()}
    for entity, values in saved.get("client_quotas", []):
        image.client_quotas[frozenset((kind, name) for kind, name in entity)] = dict(values)
    features = saved.get("features", {"levels": {}, "changes": 0})
    image.feature_levels, image.feature_changes = dict(features["levels"]), features["changes"]


def _topics_from_json(saved: list[dict[str, Any]]) -> Iterator[TopicState]:
    for topic in saved:
        partitions = []
        for index, entry in enumerate(topic["partitions"]):
            state = PartitionState(index, list(entry["replicas"]))
            state.isr = list(entry["isr"])
            state.leader = entry["leader"]
            state.leader_epoch = entry["leader_epoch"]
            state.partition_epoch = entry["partition_epoch"]
            state.adding, state.removing = list(entry.get("adding", [])), list(entry.get("removing", []))
            partitions.append(state)
        yield TopicState(topic["name"], bytes.fromhex(topic["id"]), partitions, dict(topic["config"]))
