"""The sources of scenarios: KIPs, and classes and methods of Apache Kafka."""

_PACKAGES = """\
kafka.cluster: Partition
kafka.coordinator.group: GroupCoordinator
kafka.coordinator.transaction: TransactionCoordinator TransactionLog TransactionStateManager
kafka.log: LocalLog UnifiedLog
kafka.network: SocketServer
kafka.server: AclApis ApiVersionManager AuthHelper AutoTopicCreationManager CachedPartition ConfigHelper ControllerApis
  ControllerConfigurationValidator ControllerMutationQuotaManager DelayedFetch DelayedRemoteFetch DelegationTokenManager
  DynamicBrokerConfig FetchManager FetchSession FetchSessionCache ForwardingManager IncrementalFetchContext KafkaApis
  ControllerRegistrationManager ReplicaManager ZkAdminManager
kafka.server.handlers: DescribeTopicPartitionsRequestHandler
kafka.server.metadata: KRaftMetadataCache
kafka.server.share: DelayedShareFetch SharePartition SharePartitionManager
org.apache.kafka.common.acl: AclBindingFilter
org.apache.kafka.common.internals: Topic
org.apache.kafka.common.network: NetworkReceive
org.apache.kafka.common.protocol: ByteBufferAccessor
org.apache.kafka.common.record: AbstractLegacyRecordBatch ByteBufferLogInputStream DefaultRecord DefaultRecordBatch
  FileRecords LegacyRecord MemoryRecords RecordsUtil
org.apache.kafka.common.requests: AddPartitionsToTxnRequest ApiVersionsRequest FetchRequest ListOffsetsRequest
  ProduceRequest RequestContext RequestHeader
org.apache.kafka.common.security.authenticator: SaslServerAuthenticator
org.apache.kafka.common.security.plain.internals: PlainSaslServer
org.apache.kafka.controller: AclControlManager ClientQuotaControlManager ClusterControlManager
  ConfigurationControlManager DelegationTokenControlManager FeatureControlManager PartitionReassignmentReplicas
  QuorumController ReplicationControlManager ScramControlManager
org.apache.kafka.coordinator.common.runtime: CoordinatorRuntime
org.apache.kafka.coordinator.group: GroupConfig GroupCoordinatorRecordHelpers GroupCoordinatorService
  GroupMetadataManager OffsetMetadataManager ShareGroupAutoOffsetResetStrategy
org.apache.kafka.coordinator.group.assignor: RangeAssignor SimpleAssignor UniformAssignor
  UniformHeterogeneousAssignmentBuilder UniformHomogeneousAssignmentBuilder
org.apache.kafka.coordinator.group.classic: ClassicGroup
org.apache.kafka.coordinator.group.modern.consumer: ConsumerGroup CurrentAssignmentBuilder
org.apache.kafka.coordinator.group.modern.share: ShareGroup ShareGroupConfig ShareGroupMember
org.apache.kafka.coordinator.group.streams: StreamsGroup
org.apache.kafka.coordinator.group.streams.assignor: StickyTaskAssignor
org.apache.kafka.coordinator.group.streams.topics: EndpointToPartitionsManager InternalTopicManager
org.apache.kafka.coordinator.share: ShareCoordinatorService ShareCoordinatorShard
org.apache.kafka.image: ScramImage
org.apache.kafka.metadata.authorizer: StandardAuthorizer StandardAuthorizerData
org.apache.kafka.raft: KafkaRaftClient
org.apache.kafka.server: ClientMetricsManager SimpleApiVersionManager
org.apache.kafka.server.authorizer: Authorizer
org.apache.kafka.server.config: DelegationTokenManagerConfigs QuotaConfig
org.apache.kafka.server.log.remote.metadata.storage: TopicBasedRemoteLogMetadataManager
org.apache.kafka.server.log.remote.metadata.storage.serialization: RemoteLogMetadataSerde
org.apache.kafka.server.log.remote.storage: RemoteLogManager
org.apache.kafka.server.metrics: ClientMetricsConfigs
org.apache.kafka.server.share.session: ShareSession ShareSessionCache
org.apache.kafka.storage.internals.epoch: LeaderEpochFileCache
org.apache.kafka.storage.internals.log: LogConfig LogSegment LogValidator ProducerAppendInfo ProducerStateManager
  TransactionIndex
"""


def _packages() -> dict[str, str]:
    packages = {}
    package = ""
    for word in _PACKAGES.split():
        if word.endswith(":"):
            package = word[:-1]
        else:
            packages[word] = package
    return packages


PACKAGES = _packages()
"""The package of each class that a scenario names; a class of another package is named with it."""


def full_names(text: str) -> tuple[str, ...]:
    """Return the full names of sources, which are given without the packages of classes and separated by spaces."""
    return tuple(_full_name(word) for word in text.split())


def _full_name(source: str) -> str:
    if source.startswith("KIP-") or source[0].islower():
        return source
    name = source.partition(".")[0]
    if name not in PACKAGES:
        raise ValueError(f"add the package of {name} to {__file__}")
    return f"{PACKAGES[name]}.{source}"
