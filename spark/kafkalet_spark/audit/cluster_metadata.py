"""Read the metadata of a cluster from its log directories: the configs of topics, and the IDs of brokers.

kafkalet stores its metadata in kafkalet.json, in its log directory or, with several brokers, in the parent of their
directories. Apache Kafka stores it in the log `__cluster_metadata-0`: the newest snapshot, and the records after it. If
both exist, kafkalet.json is valid as long as the log has the size that it mentions.

Static broker properties (server.properties) are not part of the metadata.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kafkalet.formats import METADATA_TOPIC
from kafkalet.protocol.errors import DecodeError, KafkaError
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.metadata_frame import decode_record
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet_spark.logs.files import CorruptFile, read_whole

from .findings import Findings

KAFKALET_JSON = "kafkalet.json"
TOPIC, BROKER = 2, 4
"""Resource types of configs (ConfigResource.Type)."""
_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint", re.ASCII)
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_BROKER_DIRECTORY = re.compile(r"broker-\d+", re.ASCII)


class TopicSettings(NamedTuple):
    """What the metadata says about a topic. A field is None if it is unknown."""

    cleanup_policy: str | None = None
    index_interval_bytes: int | None = None


UNKNOWN = TopicSettings()


class ClusterMetadata(NamedTuple):
    """The metadata of a cluster."""

    path: str
    """The file or directory that it was read from."""
    configs: Mapping[str, Mapping[str, str]]
    """The configs that are set for each topic, keyed by topic name."""
    defaults: Mapping[str, str]
    """The dynamic configs of all brokers."""
    replicas: Mapping[tuple[str, int], tuple[int, ...]]
    """The broker IDs of the replicas of each partition."""
    brokers: frozenset[int]
    """The IDs of the brokers that are registered or have replicas."""

    def settings(self, topic: str) -> TopicSettings:
        """Return the settings of a topic. A topic without cleanup.policy has Kafka's default."""
        if topic == METADATA_TOPIC:
            return TopicSettings("delete")
        if topic not in self.configs:
            return UNKNOWN
        configs, defaults = self.configs[topic], self.defaults
        interval = configs.get("index.interval.bytes", defaults.get("log.index.interval.bytes"))
        return TopicSettings(
            configs.get("cleanup.policy", defaults.get("log.cleanup.policy", "delete")),
            None if interval is None else int(interval),
        )


def read_metadata(directories: Iterable[str], findings: Findings) -> ClusterMetadata | None:
    """Return the metadata in these log directories; None if there is none. If it cannot be read completely, record that
    as not checked, and return None, too.
    """
    places = list(dict.fromkeys(directories))
    logs = [path for each in places if os.path.isdir(path := os.path.join(each, f"{METADATA_TOPIC}-0"))]
    parents = [os.path.dirname(each) for each in places if _BROKER_DIRECTORY.fullmatch(os.path.basename(each))]
    path = ""
    try:
        for each in (*places, *parents):
            path = os.path.join(each, KAFKALET_JSON)
            if os.path.isfile(path):
                saved = json.loads(read_whole(path))
                if not logs or saved.get("metadata_log") in (None, list(_state(logs[0]))):
                    return _from_json(path, saved)
        path = logs[0] if logs else ""
        return _from_log(path) if path else None
    except (CorruptFile, KafkaError, DecodeError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        findings.skip(path, f"the metadata is damaged, so that the settings of topics are unknown: {error}")
        return None


def _from_json(path: str, saved: Mapping[str, Any]) -> ClusterMetadata:
    topics = saved["topics"]
    replicas = {
        (topic["name"], number): tuple(partition["replicas"])
        for topic in topics
        for number, partition in enumerate(topic["partitions"])
    }
    return ClusterMetadata(
        path,
        {topic["name"]: topic["config"] for topic in topics},
        next((config for node, config in saved["broker_config"] if node is None), {}),
        replicas,
        frozenset(broker for found in replicas.values() for broker in found),
    )


def _state(directory: str) -> tuple[str, int]:
    """Return the name and the size of the last segment, which change whenever something is written."""
    names = sorted(name for name in os.listdir(directory) if _SEGMENT.fullmatch(name))
    return (names[-1], os.path.getsize(os.path.join(directory, names[-1]))) if names else ("", 0)


def _from_log(directory: str) -> ClusterMetadata:
    """Raises DecodeError if records are missing or damaged."""
    names = sorted(os.listdir(directory))
    snapshot = max((name for name in names if _SNAPSHOT.fullmatch(name)), default=None)
    replay = _Replay()
    end = 0
    if snapshot is not None:
        for batch in _batches(os.path.join(directory, snapshot)):
            replay.take(batch, 0)
        end = int(snapshot[:20])
    for name in filter(_SEGMENT.fullmatch, names):
        for batch in _batches(os.path.join(directory, name)):
            if batch.next_offset <= end:
                continue
            if batch.base_offset > end:
                raise DecodeError(f"{name} lacks the offsets from {end} to {batch.base_offset}")
            replay.take(batch, end)
            end = batch.next_offset
    return replay.metadata(directory)


def _batches(path: str) -> Iterator[Batch]:
    """Iterate over the complete batches of a file. Raises KafkaError if a checksum is wrong."""
    for batch in batches(read_whole(path)):
        batch.check_crc()
        yield batch


class _Replay:
    """Applies metadata records in order. The records of a transaction (KIP-868) count when it has ended."""

    def __init__(self) -> None:
        self._topics: dict[bytes, str] = {}
        self._configs: dict[tuple[int, str], dict[str, str]] = {}
        self._replicas: dict[tuple[bytes, int], tuple[int, ...]] = {}
        self._brokers: set[int] = set()
        self._pending: list[object] | None = None

    def take(self, batch: Batch, start: int) -> None:
        """Apply the records of a batch at or above offset `start`."""
        if batch.is_control:
            return
        for record in batch.records():
            if record.offset >= start:
                self._take(decode_record(record.value or b""))

    def _take(self, record: object) -> None:
        if isinstance(record, records.BeginTransactionRecord):
            self._pending = []
        elif isinstance(record, records.EndTransactionRecord | records.AbortTransactionRecord):
            pending, self._pending = self._pending or [], None
            for each in pending if isinstance(record, records.EndTransactionRecord) else ():
                self._apply(each)
        elif self._pending is not None:
            self._pending.append(record)
        else:
            self._apply(record)

    def _apply(self, record: object) -> None:
        match record:
            case records.TopicRecord():
                self._topics[record.topic_id] = record.name
            case records.RemoveTopicRecord():
                self._configs.pop((TOPIC, self._topics.pop(record.topic_id)), None)
            case records.PartitionRecord():
                self._replicas[record.topic_id, record.partition_id] = tuple(record.replicas)
            case records.PartitionChangeRecord() if record.replicas is not None:
                self._replicas[record.topic_id, record.partition_id] = tuple(record.replicas)
            case records.RegisterBrokerRecord():
                self._brokers.add(record.broker_id)
            case records.ConfigRecord():
                configs = self._configs.setdefault((record.resource_type, record.resource_name), {})
                configs.pop(record.name, None)
                if record.value is not None:
                    configs[record.name] = record.value

    def metadata(self, path: str) -> ClusterMetadata:
        replicas = {
            (self._topics[topic_id], partition): found
            for (topic_id, partition), found in self._replicas.items()
            if topic_id in self._topics
        }
        return ClusterMetadata(
            path,
            {name: self._configs.get((TOPIC, name), {}) for name in self._topics.values()},
            self._configs.get((BROKER, ""), {}),
            replicas,
            frozenset(self._brokers.union(*replicas.values())),
        )
