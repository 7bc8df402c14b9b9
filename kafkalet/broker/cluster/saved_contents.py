"""Reads what the data directories contain when a cluster starts: its metadata, the ids of its brokers, and strays.

The metadata comes from kafkalet.json, or from Apache Kafka's metadata log if that is newer or the only one (kraft/). As
in Kafka, data that cannot belong to the starting brokers is refused or set aside.
"""

import os
from collections.abc import Mapping

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.properties import InvalidProperty
from kafkalet.storage.identity import IdentityRefused, read_identity

from .metadata import MetadataImage
from .metadata_store import BOOTSTRAP, METADATA_LOG, LoadedMetadata, MetadataDamaged, MetadataStore
from .node import Node

_TIERED_TOPICS = (
    "You have to delete all topics with the property remote.storage.enable=true before disabling tiered storage "
    "cluster-wide"
)
"""The message of LogConfig.validateRemoteStorageOnlyIfSystemEnabled when a broker starts."""


def load_metadata(store: MetadataStore, node_ids: range, config: BrokerConfig, cluster_id: str) -> LoadedMetadata:
    """Return the metadata of the data directories, or new metadata. Raises MetadataDamaged, OSError."""
    directories = [path for node_id in node_ids for path in store.log_directories(node_id, len(node_ids))]
    directories.append(store.path)
    if (configured := config.static.get("metadata.log.dir")) is not None:
        directories.insert(0, os.path.abspath(configured))
    names = [os.path.join(directory, name) for directory in directories for name in (METADATA_LOG, BOOTSTRAP)]
    if any(store.files.system.exists(name) for name in names):
        from .kraft.opening import open_metadata

        loaded = open_metadata(store, directories, config)
    else:
        saved = store.load()
        loaded = None if saved is None else LoadedMetadata(*saved)
    return loaded or LoadedMetadata(MetadataImage(cluster_id), 0, has_producer_ids=False, is_new=True)


def check_config(metadata: MetadataImage, config: BrokerConfig, path: str) -> None:
    """Raise MetadataDamaged if properties in the metadata are invalid, or if the broker has no tiered storage any more.

    The metadata was read from the file at `path`.
    """
    needs_tiers = config.release.has_tiered_storage and not config.remote_log_storage_system_enable
    try:
        for topic in metadata.topics.values():
            if config.log_config(topic.config).remote_storage_enable and needs_tiers:
                raise InvalidProperty("remote.storage.enable", "true", "", _TIERED_TOPICS)
        for changed in metadata.broker_config.values():
            config.for_broker({}).reconfigure(changed, {})
    except InvalidProperty as error:
        raise MetadataDamaged(f"{path}: {error}") from error


def id_of_directory(store: MetadataStore, metadata: MetadataImage, node_id: int) -> int | None:
    """Return the id of the broker that wrote the data directory if it should replace `node_id`, or None.

    The result is None if partitions in the metadata belong to `node_id`, but none to the id in the directory. Such a
    directory is refused later, as in Kafka, where the id is always configured.
    """
    found = read_identity(store.files, store.path)
    if found is None or found.node_id in (None, -1, node_id):
        return None
    held_by = _holders(metadata)
    return None if node_id in held_by and found.node_id not in held_by else found.node_id


def check_ids(metadata: MetadataImage, node_ids: range, path: str) -> None:
    """Raise IdentityRefused if no broker of this cluster has a replica of the partitions in the metadata."""
    held_by = _holders(metadata)
    if held_by and held_by.isdisjoint(node_ids):
        raise IdentityRefused(
            f"{path}: its partitions belong to broker {min(held_by)}, but the id of this broker is {node_ids[0]}; "
            f"set node.id={min(held_by)}"
        )


def _holders(metadata: MetadataImage) -> set[int]:
    """Return the ids of the brokers that have replicas."""
    return {node_id for _, state in metadata.all_partitions() for node_id in state.replicas}


def set_strays_aside(metadata: MetadataImage, nodes: Mapping[int, Node]) -> None:
    """Rename the directories of partitions that do not belong to their broker to -stray, as Kafka does."""
    for node_id, node in nodes.items():
        for directory in node.directories:
            for name, index, topic_id in directory.found():
                if reason := _reason_to_set_aside(metadata, node_id, name, index, topic_id):
                    directory.rename_to_stray(name, index, reason)


def _reason_to_set_aside(metadata: MetadataImage, node_id: int, name: str, index: int, topic_id: bytes | None) -> str:
    """Return the reason why a log does not belong to a broker, or "" if it does."""
    topic, state = metadata.topics.get(name), metadata.partition(name, index)
    if topic is None or state is None or node_id not in state.replicas:
        return "the metadata of Kafka assigns no such partition to this broker"
    if topic_id not in (None, topic.topic_id):
        return "it belongs to a deleted topic of the same name"
    return ""
