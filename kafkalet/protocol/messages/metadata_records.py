"""The records of the metadata log of Apache Kafka's KRaft controllers, `__cluster_metadata` (Kafka 3.3 to 4.4).

The value of each record starts with its type and version, see metadata_frame. Keys are null. All versions of all
records are flexible. Types without a declaration (6, 13 and 16) were used only before Kafka 3.3.

RegisterBrokerRecord
v1  adds the controlled shutdown
v2  adds the migration from ZooKeeper (KIP-866)
v3  adds log directories (KIP-858)
v4  adds cordoned log directories (KIP-1066)

PartitionRecord, PartitionChangeRecord
v1  adds log directories (KIP-858)
v2  adds eligible leader replicas (KIP-966)

BrokerRegistrationChangeRecord
v1  adds the controlled shutdown
v2  adds log directories (KIP-858)
v3  adds cordoned log directories (KIP-1066)

Source: metadata/src/main/resources/common/metadata/*.json.
"""

from typing import ClassVar

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Bool, Bytes, Float64, Int8, Int16, Int32, Int64, String, UInt16, Uuid


class MetadataRecord(Message):
    """A record of the metadata log. `TYPE` is its number."""

    TYPE: ClassVar[int]

    def __init_subclass__(cls, *, type: int, versions: str = "0") -> None:  # noqa: A002
        super().__init_subclass__(versions=versions, flexible="0+")
        cls.TYPE = type


class Endpoint(Struct):
    name: String
    host: String
    port: UInt16
    security_protocol: Int16  # 0: PLAINTEXT, 1: SSL, 2: SASL_PLAINTEXT, 3: SASL_SSL


class SupportedFeature(Struct):
    name: String
    min_supported_version: Int16
    max_supported_version: Int16


class RegisterBrokerRecord(MetadataRecord, type=0, versions="0-4"):
    broker_id: Int32
    is_migrating_zk_broker: Bool = field("2+", default=False)
    incarnation_id: Uuid
    broker_epoch: Int64
    end_points: list[Endpoint]
    features: list[SupportedFeature]
    rack: String | None
    fenced: Bool = field(default=True)
    in_controlled_shutdown: Bool = field("1+", default=False)
    log_dirs: list[Uuid] = field("3+", tag=0, default=[])
    cordoned_log_dirs: list[Uuid] | None = field("4+", tag=1, default=None)


class UnregisterBrokerRecord(MetadataRecord, type=1):
    broker_id: Int32
    broker_epoch: Int64


class TopicRecord(MetadataRecord, type=2):
    name: String
    topic_id: Uuid


class PartitionRecord(MetadataRecord, type=3, versions="0-2"):
    partition_id: Int32
    topic_id: Uuid
    replicas: list[Int32]
    isr: list[Int32]
    removing_replicas: list[Int32]
    adding_replicas: list[Int32]
    leader: Int32  # -1: none
    leader_recovery_state: Int8 = field(tag=0, default=0)  # 1: recovering from an unclean election
    leader_epoch: Int32
    partition_epoch: Int32
    directories: list[Uuid] = field("1+", default=[])  # in the order of `replicas`
    eligible_leader_replicas: list[Int32] | None = field("2+", tag=1, default=None)
    last_known_elr: list[Int32] | None = field("2+", tag=2, default=None)


class ConfigRecord(MetadataRecord, type=4):
    resource_type: Int8  # as in the API DescribeConfigs
    resource_name: String  # of a broker: its id, or "" for the default of all brokers
    name: String
    value: String | None  # None: the configuration has been removed


class PartitionChangeRecord(MetadataRecord, type=5, versions="0-2"):
    """A change of a partition. Fields that are None, -2 (leader) or -1 (leader_recovery_state) stay as they are."""

    partition_id: Int32
    topic_id: Uuid
    isr: list[Int32] | None = field(tag=0, default=None)
    leader: Int32 = field(tag=1, default=-2)
    replicas: list[Int32] | None = field(tag=2, default=None)
    removing_replicas: list[Int32] | None = field(tag=3, default=None)
    adding_replicas: list[Int32] | None = field(tag=4, default=None)
    leader_recovery_state: Int8 = field(tag=5, default=-1)
    directories: list[Uuid] | None = field("1+", tag=8, default=None)
    eligible_leader_replicas: list[Int32] | None = field("2+", tag=6, default=None)
    last_known_elr: list[Int32] | None = field("2+", tag=7, default=None)


class FenceBrokerRecord(MetadataRecord, type=7):
    id: Int32
    epoch: Int64


class UnfenceBrokerRecord(MetadataRecord, type=8):
    id: Int32
    epoch: Int64


class RemoveTopicRecord(MetadataRecord, type=9):
    topic_id: Uuid


class DelegationTokenRecord(MetadataRecord, type=10):
    owner: String  # principals in the form User:alice
    requester: String
    renewers: list[String]
    issue_timestamp: Int64
    max_timestamp: Int64
    expiration_timestamp: Int64
    token_id: String


class UserScramCredentialRecord(MetadataRecord, type=11):
    name: String
    mechanism: Int8
    salt: Bytes
    stored_key: Bytes
    server_key: Bytes
    iterations: Int32


class FeatureLevelRecord(MetadataRecord, type=12):
    name: String
    feature_level: Int16  # 0: the feature is disabled


class ClientQuotaRecord(MetadataRecord, type=14):
    class Entity(Struct):
        entity_type: String
        entity_name: String | None  # None: the default entity

    entity: list[Entity]
    key: String
    value: Float64
    remove: Bool


class ProducerIdsRecord(MetadataRecord, type=15):
    broker_id: Int32
    broker_epoch: Int64
    next_producer_id: Int64  # the first id of the next block


class BrokerRegistrationChangeRecord(MetadataRecord, type=17, versions="0-3"):
    broker_id: Int32
    broker_epoch: Int64
    fenced: Int8 = field(tag=0, default=0)  # -1: unfenced, 1: fenced, 0: no change
    in_controlled_shutdown: Int8 = field("1+", tag=1, default=0)  # 1: in controlled shutdown, 0: no change
    log_dirs: list[Uuid] = field("2+", tag=2, default=[])
    cordoned_log_dirs: list[Uuid] | None = field("3+", tag=3, default=None)


class AccessControlEntryRecord(MetadataRecord, type=18):
    id: Uuid
    resource_type: Int8
    resource_name: String
    pattern_type: Int8
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


class RemoveAccessControlEntryRecord(MetadataRecord, type=19):
    id: Uuid


class NoOpRecord(MetadataRecord, type=20):
    """A record without content, which the active controller writes regularly."""


class ZkMigrationStateRecord(MetadataRecord, type=21):
    zk_migration_state: Int8  # 0: none, 1: migration, 2: before it, 3: after it (since 3.5)


class RemoveUserScramCredentialRecord(MetadataRecord, type=22):
    name: String
    mechanism: Int8


class BeginTransactionRecord(MetadataRecord, type=23):
    """The start of a transaction of metadata records (KIP-868). They take effect with EndTransactionRecord."""

    name: String | None = field(tag=0, default=None)


class EndTransactionRecord(MetadataRecord, type=24):
    pass


class AbortTransactionRecord(MetadataRecord, type=25):
    reason: String | None = field(tag=0, default=None)


class RemoveDelegationTokenRecord(MetadataRecord, type=26):
    token_id: String


class RegisterControllerRecord(MetadataRecord, type=27):
    controller_id: Int32
    incarnation_id: Uuid
    zk_migration_ready: Bool
    end_points: list[Endpoint]
    features: list[SupportedFeature]


class ClearElrRecord(MetadataRecord, type=28):
    topic_name: String  # "": all topics


class UnregisterControllerRecord(MetadataRecord, type=29):
    controller_id: Int32


RECORDS: dict[int, type[MetadataRecord]] = {record.TYPE: record for record in MetadataRecord.__subclasses__()}
"""The declared records, keyed by type."""
