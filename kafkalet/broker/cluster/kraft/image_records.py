"""Converts the metadata of a cluster to records of KRaft's metadata log: the reverse of `replay`.

The level of `metadata.version` determines which types of records exist, and their versions
(org.apache.kafka.server.common.MetadataVersion).

Source: the methods `write` of org.apache.kafka.image.MetadataImage and of the images that it consists of.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import NamedTuple

from kafkalet.broker.cluster.features import ELIGIBLE_LEADERS
from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState, random_uuid
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.metadata_frame import encode_record

_LOG = logging.getLogger(__name__)

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
"""A feature whose level is not in the metadata, but in a control record of the quorum. Level 0 needs no record."""

CONTROLLED_SHUTDOWN_SINCE = 7
SCRAM_SINCE = 11
TOKENS_SINCE = 14
DIRECTORIES_SINCE = 17
CLIENT_METRICS_SINCE = 17
ELIGIBLE_LEADERS_SINCE = 23
GROUP_CONFIGS_SINCE = 22
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
BROKER_EPOCH = 0
"""The epoch in which the brokers were registered. It has to be in `.kafka_cleanshutdown`, too (KIP-966)."""
UNKNOWN_BROKER = (1 << 31) - 1
"""The id of a broker that does not exist. Partitions whose replicas are unknown are assigned to this broker."""


class Cluster(NamedTuple):
    """The facts about a cluster that are not in its metadata."""

    levels: Mapping[str, int]
    """The levels of the enabled features. `metadata.version` is one of them."""
    next_producer_id: int
    directories: Mapping[int, Sequence[bytes]]
    """The ids of the log directories of each broker."""
    directory_id: Callable[[int, str, int], bytes]
    """Returns the id of the log directory in which a broker has the log of a topic and partition; zeros if unknown."""


def encoded_records(image: MetadataImage, cluster: Cluster) -> list[bytes]:
    """Return the values of the records that create the metadata, in an order in which Kafka applies them.

    Metadata that the level of `metadata.version` does not support is left out, with a warning.
    """
    return [encode_record(record, version) for record, version in _records(image, cluster)]


def _records(image: MetadataImage, cluster: Cluster) -> Iterator[tuple[records.MetadataRecord, int]]:
    """Yield the records with their versions. The level of metadata.version has to be the first."""
    level = cluster.levels[METADATA_VERSION]
    yield records.FeatureLevelRecord(name=METADATA_VERSION, feature_level=level), 0
    for name, other in sorted(cluster.levels.items()):
        if name not in (METADATA_VERSION, KRAFT_VERSION) and other:
            yield records.FeatureLevelRecord(name=name, feature_level=other), 0
    for node_id, directories in cluster.directories.items():
        yield _broker(node_id, directories, cluster.levels), _broker_version(level)
    for topic in image.topics.values():
        yield records.TopicRecord(name=topic.name, topic_id=topic.topic_id), 0
        for partition in topic.partitions:
            yield _partition(topic, partition, cluster), _partition_version(level)
    for record in (*_configs(image, level), *_quotas(image)):
        yield record, 0
    first = min(cluster.directories)
    next_id = cluster.next_producer_id
    yield records.ProducerIdsRecord(broker_id=first, broker_epoch=BROKER_EPOCH, next_producer_id=next_id), 0
    for record in (*_acls(image), *_credentials(image, level), *_tokens(image, level)):
        yield record, 0


def _broker(node_id: int, directories: Sequence[bytes], levels: Mapping[str, int]) -> records.RegisterBrokerRecord:
    """Return the registration of a broker that has stopped; Kafka replaces it when the broker starts.

    From 4.1 on, Kafka assumes that a broker without a registration has lost its data (KIP-966).
    """
    return records.RegisterBrokerRecord(
        broker_id=node_id,
        incarnation_id=random_uuid(),
        broker_epoch=BROKER_EPOCH,
        end_points=[],
        features=[
            records.SupportedFeature(name=name, min_supported_version=level, max_supported_version=level)
            for name, level in levels.items()
        ],
        rack=None,
        fenced=True,
        log_dirs=list(directories),
    )


def _broker_version(level: int) -> int:
    if level >= DIRECTORIES_SINCE:
        return 3
    return 1 if level >= CONTROLLED_SHUTDOWN_SINCE else 0


def _partition_version(level: int) -> int:
    if level >= ELIGIBLE_LEADERS_SINCE:
        return 2
    return 1 if level >= DIRECTORIES_SINCE else 0


def _partition(topic: TopicState, partition: PartitionState, cluster: Cluster) -> records.PartitionRecord:
    # The replicas of a partition may be unknown, because its log was on another broker. Kafka requires one.
    replicas = partition.replicas or [UNKNOWN_BROKER]
    has_eligible = bool(cluster.levels.get(ELIGIBLE_LEADERS)) and bool(partition.elr or partition.last_known_elr)
    return records.PartitionRecord(
        partition_id=partition.index,
        topic_id=topic.topic_id,
        replicas=replicas,
        isr=partition.isr if has_eligible else partition.isr or partition.elr or replicas,
        removing_replicas=partition.removing,
        adding_replicas=partition.adding,
        leader=partition.leader,
        leader_epoch=max(partition.leader_epoch, 0),
        partition_epoch=max(partition.partition_epoch, 0),
        directories=[cluster.directory_id(node_id, topic.name, partition.index) for node_id in replicas],
        eligible_leader_replicas=partition.elr if has_eligible else None,
        last_known_elr=partition.last_known_elr if has_eligible else None,
    )


def _configs(image: MetadataImage, level: int) -> Iterator[records.ConfigRecord]:
    kinds: list[tuple[int, Mapping[str, Mapping[str, str]]]] = [
        (TOPIC, {topic.name: topic.config for topic in image.topics.values()}),
        (BROKER, {"" if node is None else str(node): config for node, config in image.broker_config.items()}),
    ]
    if level >= CLIENT_METRICS_SINCE:
        kinds.append((CLIENT_METRICS, image.client_metrics))
    else:
        _leave_out(image.client_metrics, "subscriptions of client metrics", level)
    if level >= GROUP_CONFIGS_SINCE:
        kinds.append((GROUP, image.group_config))
    else:
        _leave_out(image.group_config, "configurations of groups", level)
    for kind, configs in kinds:
        for resource, config in configs.items():
            for key, value in config.items():
                yield records.ConfigRecord(resource_type=kind, resource_name=resource, name=key, value=value)


def _quotas(image: MetadataImage) -> Iterator[records.ClientQuotaRecord]:
    for entity, values in image.client_quotas.items():
        parts = [records.ClientQuotaRecord.Entity(entity_type=kind, entity_name=name) for kind, name in sorted(entity)]
        for key, value in values.items():
            yield records.ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


def _acls(image: MetadataImage) -> Iterator[records.AccessControlEntryRecord]:
    for acl in image.acls:
        yield records.AccessControlEntryRecord(
            id=random_uuid(),
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )


def _credentials(image: MetadataImage, level: int) -> Iterator[records.UserScramCredentialRecord]:
    if level < SCRAM_SINCE:
        _leave_out(image.scram_credentials, "SCRAM credentials", level)
        return
    for (user, mechanism), credential in image.scram_credentials.items():
        yield records.UserScramCredentialRecord(
            name=user,
            mechanism=mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )


def _tokens(image: MetadataImage, level: int) -> Iterator[records.DelegationTokenRecord]:
    if level < TOKENS_SINCE:
        _leave_out(image.delegation_tokens, "delegation tokens", level)
        return
    for token in image.delegation_tokens.values():
        yield records.DelegationTokenRecord(
            owner=str(token.owner),
            requester=str(token.requester),
            renewers=[str(renewer) for renewer in token.renewers],
            issue_timestamp=token.issued_ms,
            max_timestamp=token.max_ms,
            expiration_timestamp=token.expires_ms,
            token_id=token.token_id,
        )


def _leave_out(values: Sized, name: str, level: int) -> None:
    if values:
        _LOG.warning("leaving out %d %s, which metadata.version %d does not support", len(values), name, level)
