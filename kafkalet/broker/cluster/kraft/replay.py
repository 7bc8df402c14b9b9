"""Applies the records of a metadata log to a metadata image.

Records between BeginTransactionRecord and EndTransactionRecord are applied at the end of the transaction (KIP-868).
They are not applied if the transaction was aborted, or if its end is not in the log.

Source: org.apache.kafka.image.MetadataDelta and the deltas that it consists of; MetadataBatchLoader.
"""

import logging
from collections.abc import Callable
from typing import Any

from kafkalet.broker.cluster.metadata import NO_LEADER, MetadataImage, PartitionState, TopicState
from kafkalet.broker.quoting import quoted, shown
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.messages.raft_control_records import KRaftVersionRecord
from kafkalet.protocol.metadata_frame import UnknownRecord

from .metadata_log import Entry

_LOG = logging.getLogger(__name__)

UNCHANGED = -2
"""The leader in a PartitionChangeRecord that does not change the leader."""

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


class Replay:
    """The state of the cluster while its metadata log is read."""

    def __init__(self) -> None:
        self.image = MetadataImage("")  # the log does not contain the cluster id; meta.properties does
        self.next_producer_id = 0
        self.features: dict[str, int] = {}
        """The levels of the features, if they are not 0."""
        self._partitions: dict[bytes, dict[int, PartitionState]] = {}
        self._names: dict[bytes, str] = {}
        self._topic_configs: dict[str, dict[str, str]] = {}
        self._acls: dict[bytes, Acl] = {}
        self._transaction: list[Entry] | None = None
        self._skipped: set[UnknownRecord] = set()
        self._last_offset = -1

    def apply(self, entry: Entry) -> None:
        """Apply a record, or keep it until the end of its transaction."""
        content = entry.content
        self._last_offset = entry.offset
        if isinstance(content, records.BeginTransactionRecord):
            self._forget_transaction("it was not ended before the next one began")
            self._transaction = []
        elif isinstance(content, records.EndTransactionRecord):
            ended, self._transaction = self._transaction, None
            for each in ended or ():
                self._apply(each)
        elif isinstance(content, records.AbortTransactionRecord):
            self._transaction = None
        elif self._transaction is not None:
            self._transaction.append(entry)
        else:
            self._apply(entry)

    def _forget_transaction(self, reason: str) -> None:
        if self._transaction:
            first = self._transaction[0].offset
            _LOG.warning("ignoring the transaction of metadata records from offset %d on: %s", first, shown(reason))
        self._transaction = None

    def _apply(self, entry: Entry) -> None:
        content = entry.content
        if isinstance(content, UnknownRecord):
            if content not in self._skipped:
                self._skipped.add(content)
                _LOG.warning(
                    "skipping metadata records of unknown type %d, version %d (first at offset %d)",
                    *(content.type, content.version, entry.offset),
                )
            return
        handler = _HANDLERS.get(type(content))
        if handler is None:
            return
        try:
            handler(self, content)
        except (ValueError, KeyError) as error:
            _LOG.error("skipping the metadata record at offset %d: %s", entry.offset, shown(error))

    def finish(self) -> MetadataImage:
        """Return the image. To be called after the last record."""
        self._forget_transaction("its end is not in the log")
        for topic_id, name in self._names.items():
            partitions = self._partitions[topic_id]
            count = max(partitions, default=-1) + 1
            states = [partitions.get(index) or _without_replicas(index) for index in range(count)]
            self.image.add_topic(TopicState(name, topic_id, states, self._topic_configs.get(name, {})))
        for acl in self._acls.values():
            self.image.acls.add(acl)
        self.image.feature_changes = max(self._last_offset, 0)  # the epoch of features must not go back
        return self.image

    # Topics

    def _topic(self, record: records.TopicRecord) -> None:
        self._names[record.topic_id] = record.name
        self._partitions[record.topic_id] = {}

    def _remove_topic(self, record: records.RemoveTopicRecord) -> None:
        name = self._names.pop(record.topic_id)
        del self._partitions[record.topic_id]
        self._topic_configs.pop(name, None)

    def _partition(self, record: records.PartitionRecord) -> None:
        state = PartitionState(record.partition_id, record.replicas)
        state.restore(
            leader=record.leader,
            isr=record.isr,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            adding=record.adding_replicas,
            removing=record.removing_replicas,
            elr=record.eligible_leader_replicas or [],
            last_known_elr=record.last_known_elr or [],
        )
        self._partitions[record.topic_id][record.partition_id] = state

    def _partition_change(self, record: records.PartitionChangeRecord) -> None:
        state = self._partitions[record.topic_id][record.partition_id]
        has_new_leader = record.leader != UNCHANGED
        if record.replicas is not None:
            state.replicas = record.replicas
        state.restore(
            leader=record.leader if has_new_leader else state.leader,
            isr=state.isr if record.isr is None else record.isr,
            leader_epoch=state.leader_epoch + has_new_leader,
            partition_epoch=state.partition_epoch + 1,
            adding=state.adding if record.adding_replicas is None else record.adding_replicas,
            removing=state.removing if record.removing_replicas is None else record.removing_replicas,
            elr=state.elr if record.eligible_leader_replicas is None else record.eligible_leader_replicas,
            last_known_elr=state.last_known_elr if record.last_known_elr is None else record.last_known_elr,
        )

    def _clear_eligible(self, record: records.ClearElrRecord) -> None:
        for topic_id, partitions in self._partitions.items():
            if record.topic_name in ("", self._names.get(topic_id)):
                for state in partitions.values():
                    state.elr, state.last_known_elr = [], []

    # Configuration

    def _config(self, record: records.ConfigRecord) -> None:
        config = self._config_of(record.resource_type, record.resource_name)
        if config is None:
            return
        if record.value is None:
            config.pop(record.name, None)
        else:
            config[record.name] = record.value

    def _config_of(self, resource_type: int, name: str) -> dict[str, str] | None:
        """Return the configuration of a resource; None for levels of loggers, and for unknown types."""
        image = self.image
        if resource_type == TOPIC:
            return self._topic_configs.setdefault(name, {})
        if resource_type == BROKER:
            return image.broker_config.setdefault(int(name) if name else None, {})
        if resource_type == GROUP:
            return image.group_config.setdefault(name, {})
        if resource_type == CLIENT_METRICS:
            return image.client_metrics.setdefault(name, {})
        _LOG.info("ignoring the configuration of %s, a resource of type %d", quoted(name), resource_type)
        return None

    def _quota(self, record: records.ClientQuotaRecord) -> None:
        entity = frozenset((part.entity_type, part.entity_name) for part in record.entity)
        quotas = self.image.client_quotas
        if record.remove:
            quotas.get(entity, {}).pop(record.key, None)
            if not quotas.get(entity, True):
                del quotas[entity]
        else:
            quotas.setdefault(entity, {})[record.key] = record.value

    def _feature(self, record: records.FeatureLevelRecord) -> None:
        self._set_feature(record.name, record.feature_level)

    def _kraft_version(self, record: KRaftVersionRecord) -> None:
        self._set_feature("kraft.version", record.kraft_version)

    def _set_feature(self, name: str, level: int) -> None:
        self.features[name] = level
        if level == 0:
            del self.features[name]

    def _producer_ids(self, record: records.ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    # Security

    def _acl(self, record: records.AccessControlEntryRecord) -> None:
        self._acls[record.id] = Acl(
            ResourceType(record.resource_type),
            PatternType(record.pattern_type),
            record.resource_name,
            record.principal,
            record.host,
            Operation(record.operation),
            Permission(record.permission_type),
        )

    def _remove_acl(self, record: records.RemoveAccessControlEntryRecord) -> None:
        self._acls.pop(record.id, None)

    def _scram(self, record: records.UserScramCredentialRecord) -> None:
        from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism

        self.image.scram_credentials[record.name, ScramMechanism(record.mechanism)] = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        )

    def _remove_scram(self, record: records.RemoveUserScramCredentialRecord) -> None:
        from kafkalet.broker.security.scram_credentials import ScramMechanism

        self.image.scram_credentials.pop((record.name, ScramMechanism(record.mechanism)), None)

    def _token(self, record: records.DelegationTokenRecord) -> None:
        from kafkalet.broker.security.delegation_tokens import DelegationToken
        from kafkalet.broker.security.principal import parse_principal

        self.image.delegation_tokens[record.token_id] = DelegationToken(
            record.token_id,
            parse_principal(record.owner),
            parse_principal(record.requester),
            tuple(parse_principal(renewer) for renewer in record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def _remove_token(self, record: records.RemoveDelegationTokenRecord) -> None:
        self.image.delegation_tokens.pop(record.token_id, None)


def _without_replicas(index: int) -> PartitionState:
    """Return a placeholder for a partition that the log does not contain although it contains a higher number."""
    state = PartitionState(index, [])
    state.leader = NO_LEADER
    return state


_HANDLERS: dict[type[Any], Callable[[Replay, Any], None]] = {
    records.TopicRecord: Replay._topic,
    records.RemoveTopicRecord: Replay._remove_topic,
    records.PartitionRecord: Replay._partition,
    records.PartitionChangeRecord: Replay._partition_change,
    records.ClearElrRecord: Replay._clear_eligible,
    records.ConfigRecord: Replay._config,
    records.ClientQuotaRecord: Replay._quota,
    records.FeatureLevelRecord: Replay._feature,
    KRaftVersionRecord: Replay._kraft_version,
    records.ProducerIdsRecord: Replay._producer_ids,
    records.AccessControlEntryRecord: Replay._acl,
    records.RemoveAccessControlEntryRecord: Replay._remove_acl,
    records.UserScramCredentialRecord: Replay._scram,
    records.RemoveUserScramCredentialRecord: Replay._remove_scram,
    records.DelegationTokenRecord: Replay._token,
    records.RemoveDelegationTokenRecord: Replay._remove_token,
}
"""The types of records that change the image.

Records about brokers and controllers do not, because the image has the brokers that run here.
"""
