"""Check the files and directories of a log directory, and the consistency of several log directories.

    names           every directory is a log (TOPIC-PARTITION) or was renamed by a broker (-delete, -stray, -future);
                    every file is one that brokers write
    checkpoints     each partition named in them exists; after a clean shutdown, the recovery points name all partitions
    partitions      none exists twice; all partitions of a topic have the same topic ID, and no other topic has it
    identity        all directories of a broker have the same cluster.id and node.id, but different directory.ids

Directories that a broker is about to delete (TOPIC-PARTITION.ID-delete, for `file.delete.delay.ms` after the topic was
deleted) are valid; they are listed but not read. Future replicas (-future) are not supported; they are listed as not
checked.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafkalet import formats
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.directory import Listing, PartitionLog, is_partition, topic_partition, twice
from kafkalet_spark.logs.files import CorruptFile, UnreadableFile, read_whole
from kafkalet_spark.logs.running_broker import is_at_rest

from .cluster_metadata import KAFKALET_JSON, ClusterMetadata
from .companion_files import CLEANED_UP_TO
from .findings import Findings

CHECKPOINTS = (
    formats.RECOVERY_POINTS,
    formats.HIGH_WATERMARKS,
    formats.LOG_START_OFFSETS,
    CLEANED_UP_TO,
)
_FILES = {
    *CHECKPOINTS,
    formats.CLEAN_SHUTDOWN,
    formats.META_PROPERTIES,
    ".lock",
    "bootstrap.checkpoint",
    KAFKALET_JSON,
}
_DIRECTORIES = {"remote-log-index-cache"}
"""The index cache of tiered storage, which LogManager skips."""
_TEMPORARY = re.compile(r".*\.tmp")
_SET_ASIDE = re.compile(r"(.+)-(\d+)\.[^.]+-(delete|stray|future)")
_HALF_A_LOAD = re.compile(r"\.kafkalog-\w+\.commit")
_BROKERS = re.compile(r"broker-\d+")

TopicPartition = tuple[str, int]


class DirectoryFacts(NamedTuple):
    """The findings about one log directory, or about all log directories together."""

    path: str
    findings: Findings
    being_deleted: tuple[str, ...] = ()
    """The names of directories that a broker is about to delete."""


class _Names(NamedTuple):
    """The directories found in a log directory."""

    logs: set[TopicPartition]
    """Partition directories, with or without segments."""
    set_aside: dict[TopicPartition, str]
    """Renamed partition directories, with their suffix: delete, stray or future."""


def check_directories(
    listing: Listing, topics: Collection[str], cluster_id: str | None, metadata: ClusterMetadata | None
) -> list[DirectoryFacts]:
    """Check each log directory, then all of them together.

    If `topics` is not empty, other topics are ignored. `cluster_id` is the live broker's cluster ID, if there is a
    broker, and `metadata` is that of the directories.
    """
    found = []
    for path in listing.directories:
        check = _DirectoryCheck(path, topics)
        check.names()
        check.checkpoints(listing.logs)
        found.append(DirectoryFacts(path, check.findings, tuple(check.being_deleted)))
    findings = Findings()
    for log, other in twice(listing.logs):
        findings.add("directory", f"{log.name} also exists in {other.path}", fault="partition-twice", file=log.path)
    _check_topic_ids(listing.logs, findings)
    parents = list(dict.fromkeys([*listing.directories, *(os.path.dirname(log.path) for log in listing.logs)]))
    for path in listing.directories:
        _check_metadata_log(path, findings)
    known = _check_identities(parents, listing.directories, cluster_id, findings)
    _check_brokers(listing.logs, known, metadata, findings)
    for unlisted in listing.unlisted:
        findings.skip(unlisted.path, unlisted.reason)
    return [*found, DirectoryFacts(os.path.commonpath(parents) if parents else "", findings)]


class _DirectoryCheck:
    def __init__(self, path: str, topics: Collection[str]) -> None:
        self.path = path
        self.topics = topics
        self.findings = Findings()
        self.there = _Names(set(), {})
        self.being_deleted: list[str] = []

    def names(self) -> None:
        for name in sorted(os.listdir(self.path)):
            self.findings.checked["names"] += 1
            path = os.path.join(self.path, name)
            if os.path.isdir(path):
                self._directory(name, path)
            elif os.path.islink(path) and (named := topic_partition(name)):
                self.there.logs.add(named)  # It cannot be listed; this is reported for the partition.
            elif topic_partition(name):
                self._add("partition-is-file", "a file has the name of a partition directory", path)
            elif name not in _FILES and not _TEMPORARY.fullmatch(name):
                self._add("foreign-file", "brokers do not write files with this name", path)

    def _directory(self, name: str, path: str) -> None:
        if named := topic_partition(name):
            self._partition(name, named, path)
        elif match := _SET_ASIDE.fullmatch(name):
            self._set_aside(name, (match[1], int(match[2])), match[3], path)
        elif _HALF_A_LOAD.fullmatch(name):
            self._add(
                "half-a-load", "a load was interrupted while it was committed; the next load will complete it", path
            )
        elif name not in _DIRECTORIES:
            self._add("foreign-directory", "the name is not TOPIC-PARTITION", path)

    def _partition(self, name: str, named: TopicPartition, path: str) -> None:
        if _BROKERS.fullmatch(name) and os.path.exists(os.path.join(self.path, KAFKALET_JSON)):
            return  # It is the log directory of one broker of a kafkalet cluster.
        self.there.logs.add(named)
        if self.topics and named[0] not in self.topics:
            return
        if name != f"{named[0]}-{named[1]}":
            self._add("odd-name", f"Kafka names it {named[0]}-{named[1]}", path)
        try:
            is_log = is_partition(path)
        except OSError:
            return  # It cannot be listed; this is reported for the partition.
        if not is_log:
            self._add("empty-partition", "the directory has the name of a partition but contains no log", path)

    def _set_aside(self, name: str, key: TopicPartition, state: str, path: str) -> None:
        self.there.set_aside[key] = state
        if state == "delete":
            self.being_deleted.append(name)
        elif state == "future":
            current = os.path.join(self.path, f"{key[0]}-{key[1]}")
            if os.path.isdir(current):
                self._add("future-beside", f"a future replica and {current} are in the same log directory", path)
            self.findings.skip(path, "future replicas are not supported")
        else:
            self._add("stray", "a broker renamed this log because it was not in the cluster metadata", path)

    def checkpoints(self, logs: Sequence[PartitionLog]) -> None:
        """Compare the checkpoints with the logs of all directories."""
        # Kafka loads a partition from any of its log directories.
        self.there.logs.update((log.topic, log.partition) for log in logs)
        gone: dict[TopicPartition, dict[str, int]] = defaultdict(dict)
        for name in CHECKPOINTS:
            path = os.path.join(self.path, name)
            try:
                offsets = checkpoints.read_offsets(path)
            except UnreadableFile as error:
                self.findings.skip(path, error.reason)
                continue
            except CorruptFile:
                continue  # The audit of each log reports this.
            self.findings.checked["checkpoint entries"] += len(offsets)
            if offsets and (repeated := int(read_whole(path).split()[1]) - len(offsets)):
                message = f"{repeated} of the entries are for partitions that have another entry"
                self.findings.add("checkpoint", message, fault=f"repeated-{name}", file=path)
            for key, offset in offsets.items():
                if self._is_gone(key):
                    gone[key][name] = offset
            if name == formats.RECOVERY_POINTS and is_at_rest(self.path):
                self._names_all(path, offsets, [log for log in logs if os.path.dirname(log.path) == self.path])
        for (topic, partition), named in sorted(gone.items()):
            entries = ", ".join(f"{name} at offset {offset}" for name, offset in named.items())
            state = self.there.set_aside.get((topic, partition))
            where = f"exists only as -{state}" if state else "does not exist"
            path = os.path.join(self.path, f"{topic}-{partition}")
            fault = "partition-is-future" if state == "future" else "partition-gone"
            self._add(fault, f"the partition is named in {entries}, but {where}", path)

    def _is_gone(self, key: TopicPartition) -> bool:
        if key in self.there.logs or (self.topics and key[0] not in self.topics):
            return False
        # After deleting a topic, a broker rewrites the checkpoints; for high watermarks, this can take five seconds.
        return self.there.set_aside.get(key) != "delete" or is_at_rest(self.path)

    def _names_all(self, path: str, offsets: Mapping[TopicPartition, int], logs: Iterable[PartitionLog]) -> None:
        missing = [
            log for log in logs if log.topic != formats.METADATA_TOPIC and (log.topic, log.partition) not in offsets
        ]
        if not os.path.exists(path):
            if missing:
                message = "the file is missing, although the broker was shut down cleanly"
                self.findings.add("checkpoint", message, fault="no-recovery-points", file=path)
            return
        for log in missing:
            message = f"not in {formats.RECOVERY_POINTS}, although the broker was shut down cleanly"
            self._add("partition-unknown", message, log.path)

    def _add(self, fault: str, message: str, path: str) -> None:
        self.findings.add("directory", message, fault=fault, file=path)


def _check_topic_ids(logs: Sequence[PartitionLog], findings: Findings) -> None:
    by_topic: dict[str, dict[bytes | None, list[PartitionLog]]] = defaultdict(lambda: defaultdict(list))
    by_id: dict[bytes, set[str]] = defaultdict(set)
    for log in logs:
        by_topic[log.topic][log.topic_id].append(log)
        if log.topic_id is not None:
            findings.checked["topic ids"] += 1
            if log.topic != formats.METADATA_TOPIC:
                by_id[log.topic_id].add(log.topic)
    some_have = bool(by_id)
    blamed: set[bytes] = set()
    for topic, ids in sorted(by_topic.items()):
        if topic != formats.METADATA_TOPIC and some_have:
            for log in ids.pop(None, []):
                path = os.path.join(log.path, formats.PARTITION_METADATA)
                if not os.path.lexists(path):  # an unreadable file is already reported
                    findings.add("topic-id", f"{log.name} has no topic ID", fault="no-topic-id", file=path)
        blamed |= _differing(topic, {key: found for key, found in ids.items() if key is not None}, findings)
    for topic_id, names in sorted(by_id.items()):
        if len(names) > 1 and topic_id not in blamed:
            message = f"the topics {', '.join(sorted(names))} have the same topic ID {formats.uuid_text(topic_id)}"
            log = by_topic[max(names)][topic_id][0]
            path = os.path.join(log.path, formats.PARTITION_METADATA)
            findings.add("topic-id", message, fault="topic-id-shared", file=path)


def _differing(topic: str, ids: Mapping[bytes, Sequence[PartitionLog]], findings: Findings) -> set[bytes]:
    """Report partitions whose topic ID differs from the most common ID of the topic. Return the differing IDs."""
    if len(ids) < 2:
        return set()
    most = max(ids, key=lambda topic_id: len(ids[topic_id]))
    for topic_id, logs in ids.items():
        for log in logs if topic_id != most else ():
            path = os.path.join(log.path, formats.PARTITION_METADATA)
            message = (
                f"{log.name} has the topic ID {formats.uuid_text(topic_id)}, but other partitions of {topic} have "
                f"{formats.uuid_text(most)}"
            )
            findings.add("topic-id", message, fault="topic-ids-differ", file=path)
    return ids.keys() - {most}


def _check_metadata_log(path: str, findings: Findings) -> None:
    """Check that the metadata log of Kafka is there. `kafka-storage format` writes bootstrap.checkpoint into the
    directory of that log, and Kafka writes quorum-state before the first record."""
    directory = os.path.join(path, f"{formats.METADATA_TOPIC}-0")
    if not os.path.isdir(directory):
        if os.path.exists(os.path.join(path, "bootstrap.checkpoint")):
            message = "the directory is missing, but there is a bootstrap.checkpoint"
            findings.add("directory", message, fault="no-metadata-log", file=directory)
        return
    names = os.listdir(directory)
    has_records = any(name.endswith(".log") and os.path.getsize(os.path.join(directory, name)) for name in names)
    if has_records and "quorum-state" not in names and not os.path.exists(os.path.join(path, KAFKALET_JSON)):
        file = os.path.join(directory, "quorum-state")
        findings.add("directory", "the file is missing", fault="no-quorum-state", file=file)


def _check_brokers(
    logs: Sequence[PartitionLog],
    known: Mapping[str, Mapping[str, str]],
    metadata: ClusterMetadata | None,
    findings: Findings,
) -> None:
    """Compare the node IDs of the log directories that have partitions with the brokers in the metadata."""
    for path in {os.path.dirname(log.path): None for log in logs if log.topic != formats.METADATA_TOPIC}:
        node = known.get(path, {}).get("node.id", "")
        if metadata is not None and metadata.brokers and node.isdecimal() and int(node) not in metadata.brokers:
            brokers = ", ".join(map(str, sorted(metadata.brokers)))
            message = f"node.id is {node}, but the brokers in {metadata.path} are {brokers}"
            file = os.path.join(path, formats.META_PROPERTIES)
            findings.add("identity", message, fault="node.id-unknown", file=file)


def _check_identities(
    paths: Sequence[str], looked_through: Sequence[str], cluster_id: str | None, findings: Findings
) -> Mapping[str, Mapping[str, str]]:
    """Compare the meta.properties of the log directories, and return their contents."""
    known: dict[str, dict[str, str]] = {}
    for path in paths:
        if (properties := _properties(path, findings)) is not None:
            known[path] = properties
    is_kafkas = [path for path in looked_through if os.path.isdir(os.path.join(path, f"{formats.METADATA_TOPIC}-0"))]
    for path in looked_through if known else is_kafkas:
        if not os.path.lexists(os.path.join(path, formats.META_PROPERTIES)):
            file = os.path.join(path, formats.META_PROPERTIES)
            findings.add("identity", "the file is missing", fault="no-meta-properties", file=file)
    for name, others in (("cluster.id", "same"), ("node.id", "same"), ("directory.id", "different")):
        _compare_identities(name, others, {path: each[name] for path, each in known.items() if name in each}, findings)
    for path, properties in known.items():
        mine = properties.get("cluster.id")
        if cluster_id is not None and mine is not None and mine != cluster_id:
            message = f"cluster.id is {mine}, but the live broker belongs to cluster {cluster_id}"
            file = os.path.join(path, formats.META_PROPERTIES)
            findings.add("identity", message, fault="other-cluster", file=file)
    return known


def _compare_identities(name: str, wanted: str, values: Mapping[str, str], findings: Findings) -> None:
    paths = list(values)
    for at, path in enumerate(paths[1:], 1):
        earlier = paths[0] if wanted == "same" else next((p for p in paths[:at] if values[p] == values[path]), None)
        if earlier is None or (values[earlier] == values[path]) == (wanted == "same"):
            continue
        word = "but is" if wanted == "same" else "and is also"
        message = f"{name} is {values[path]}, {word} {values[earlier]} in {earlier}"
        file = os.path.join(path, formats.META_PROPERTIES)
        findings.add("identity", message, fault=f"{name}-{'differs' if wanted == 'same' else 'repeated'}", file=file)


def _properties(directory: str, findings: Findings) -> dict[str, str] | None:
    path = os.path.join(directory, formats.META_PROPERTIES)
    try:
        text = read_whole(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    except UnreadableFile as error:
        findings.skip(path, error.reason)
        return None
    findings.checked["identities"] += 1
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith(("#", "!")):
            yield "node.id" if name.strip() == "broker.id" else name.strip(), value.strip()
