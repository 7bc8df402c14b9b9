"""The Kafka APIs, one per line.

For example, the line

    LIST_OFFSETS = 2, "ListOffsets", "0-11", "6+"

gives the API key used on the wire, Kafka's name for the API, all versions supported by any Apache Kafka release from
0.8.2 to 4.4, and the versions that use the flexible encoding (KIP-482). `releases.py` lists the versions that each
release supports. The messages of an API are declared in the `messages` package, in a module named like the enum member
but in lower case. These modules are not imported here, so that a broker starts without loading messages that it does
not need yet.

INTER_BROKER marks the APIs that only brokers and controllers use. They are listed here because old brokers advertise
some of them in ApiVersions, but their messages are not declared.
"""

from enum import IntEnum
from typing import Final

from .fields import NEVER, Versions

INTER_BROKER: Final = False


class Api(IntEnum):
    """A Kafka API. Its integer value is the API key."""

    title: str
    """Kafka's name, such as `ListOffsets`. The messages are `<title>Request` and `<title>Response`."""
    versions: Versions
    """Every version that at least one release supports."""
    flexible: Versions
    """The versions with compact lengths and tagged fields. They also determine the header versions."""
    client_facing: bool
    """Whether clients use the API. Only these APIs have declared messages."""

    def __new__(cls, key: int, title: str, versions: str, flexible: str, client_facing: bool = True) -> "Api":
        self = int.__new__(cls, key)
        self._value_ = key
        self.title = title
        self.versions = Versions.parse(versions)
        self.flexible = NEVER if flexible == "none" else Versions.parse(flexible)
        self.client_facing = client_facing
        return self

    @property
    def module(self) -> str:
        """The name of the module that declares the messages, and of the module that handles the requests."""
        return self._name_.lower()

    def __str__(self) -> str:
        return self.title

    PRODUCE = 0, "Produce", "0-13", "9+"
    FETCH = 1, "Fetch", "0-18", "12+"
    LIST_OFFSETS = 2, "ListOffsets", "0-11", "6+"
    METADATA = 3, "Metadata", "0-13", "9+"
    LEADER_AND_ISR = 4, "LeaderAndIsr", "0-7", "4+", INTER_BROKER
    STOP_REPLICA = 5, "StopReplica", "0-4", "2+", INTER_BROKER
    UPDATE_METADATA = 6, "UpdateMetadata", "0-8", "6+", INTER_BROKER
    CONTROLLED_SHUTDOWN = 7, "ControlledShutdown", "0-3", "3+", INTER_BROKER
    OFFSET_COMMIT = 8, "OffsetCommit", "0-10", "8+"
    OFFSET_FETCH = 9, "OffsetFetch", "0-10", "6+"
    FIND_COORDINATOR = 10, "FindCoordinator", "0-6", "3+"
    JOIN_GROUP = 11, "JoinGroup", "0-9", "6+"
    HEARTBEAT = 12, "Heartbeat", "0-4", "4+"
    LEAVE_GROUP = 13, "LeaveGroup", "0-5", "4+"
    SYNC_GROUP = 14, "SyncGroup", "0-5", "4+"
    DESCRIBE_GROUPS = 15, "DescribeGroups", "0-6", "5+"
    LIST_GROUPS = 16, "ListGroups", "0-5", "3+"
    SASL_HANDSHAKE = 17, "SaslHandshake", "0-1", "none"
    API_VERSIONS = 18, "ApiVersions", "0-5", "3+"
    CREATE_TOPICS = 19, "CreateTopics", "0-7", "5+"
    DELETE_TOPICS = 20, "DeleteTopics", "0-6", "4+"
    DELETE_RECORDS = 21, "DeleteRecords", "0-2", "2+"
    INIT_PRODUCER_ID = 22, "InitProducerId", "0-5", "2+"
    OFFSET_FOR_LEADER_EPOCH = 23, "OffsetForLeaderEpoch", "0-4", "4+"
    ADD_PARTITIONS_TO_TXN = 24, "AddPartitionsToTxn", "0-5", "3+"
    ADD_OFFSETS_TO_TXN = 25, "AddOffsetsToTxn", "0-4", "3+"
    END_TXN = 26, "EndTxn", "0-5", "3+"
    WRITE_TXN_MARKERS = 27, "WriteTxnMarkers", "0-2", "1+"
    TXN_OFFSET_COMMIT = 28, "TxnOffsetCommit", "0-6", "3+"
    DESCRIBE_ACLS = 29, "DescribeAcls", "0-3", "2+"
    CREATE_ACLS = 30, "CreateAcls", "0-3", "2+"
    DELETE_ACLS = 31, "DeleteAcls", "0-3", "2+"
    DESCRIBE_CONFIGS = 32, "DescribeConfigs", "0-4", "4+"
    ALTER_CONFIGS = 33, "AlterConfigs", "0-2", "2+"
    ALTER_REPLICA_LOG_DIRS = 34, "AlterReplicaLogDirs", "0-2", "2+"
    DESCRIBE_LOG_DIRS = 35, "DescribeLogDirs", "0-5", "2+"
    SASL_AUTHENTICATE = 36, "SaslAuthenticate", "0-2", "2+"
    CREATE_PARTITIONS = 37, "CreatePartitions", "0-3", "2+"
    CREATE_DELEGATION_TOKEN = 38, "CreateDelegationToken", "0-3", "2+"
    RENEW_DELEGATION_TOKEN = 39, "RenewDelegationToken", "0-2", "2+"
    EXPIRE_DELEGATION_TOKEN = 40, "ExpireDelegationToken", "0-2", "2+"
    DESCRIBE_DELEGATION_TOKEN = 41, "DescribeDelegationToken", "0-3", "2+"
    DELETE_GROUPS = 42, "DeleteGroups", "0-3", "2+"
    ELECT_LEADERS = 43, "ElectLeaders", "0-2", "2+"
    INCREMENTAL_ALTER_CONFIGS = 44, "IncrementalAlterConfigs", "0-1", "1+"
    ALTER_PARTITION_REASSIGNMENTS = 45, "AlterPartitionReassignments", "0-1", "0+"
    LIST_PARTITION_REASSIGNMENTS = 46, "ListPartitionReassignments", "0", "0+"
    OFFSET_DELETE = 47, "OffsetDelete", "0", "none"
    DESCRIBE_CLIENT_QUOTAS = 48, "DescribeClientQuotas", "0-1", "1+"
    ALTER_CLIENT_QUOTAS = 49, "AlterClientQuotas", "0-1", "1+"
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, "DescribeUserScramCredentials", "0", "0+"
    ALTER_USER_SCRAM_CREDENTIALS = 51, "AlterUserScramCredentials", "0", "0+"
    VOTE = 52, "Vote", "0-2", "0+", INTER_BROKER
    BEGIN_QUORUM_EPOCH = 53, "BeginQuorumEpoch", "0-1", "1+", INTER_BROKER
    END_QUORUM_EPOCH = 54, "EndQuorumEpoch", "0-1", "1+", INTER_BROKER
    DESCRIBE_QUORUM = 55, "DescribeQuorum", "0-2", "0+"
    ALTER_PARTITION = 56, "AlterPartition", "0-3", "0+", INTER_BROKER
    UPDATE_FEATURES = 57, "UpdateFeatures", "0-2", "0+"
    ENVELOPE = 58, "Envelope", "0", "0+", INTER_BROKER
    FETCH_SNAPSHOT = 59, "FetchSnapshot", "0-1", "0+", INTER_BROKER
    DESCRIBE_CLUSTER = 60, "DescribeCluster", "0-2", "0+"
    DESCRIBE_PRODUCERS = 61, "DescribeProducers", "0", "0+"
    BROKER_REGISTRATION = 62, "BrokerRegistration", "0-4", "0+", INTER_BROKER
    BROKER_HEARTBEAT = 63, "BrokerHeartbeat", "0-2", "0+", INTER_BROKER
    UNREGISTER_BROKER = 64, "UnregisterBroker", "0", "0+"
    DESCRIBE_TRANSACTIONS = 65, "DescribeTransactions", "0", "0+"
    LIST_TRANSACTIONS = 66, "ListTransactions", "0-2", "0+"
    ALLOCATE_PRODUCER_IDS = 67, "AllocateProducerIds", "0", "0+", INTER_BROKER
    CONSUMER_GROUP_HEARTBEAT = 68, "ConsumerGroupHeartbeat", "0-1", "0+"
    CONSUMER_GROUP_DESCRIBE = 69, "ConsumerGroupDescribe", "0-1", "0+"
    CONTROLLER_REGISTRATION = 70, "ControllerRegistration", "0", "0+", INTER_BROKER
    GET_TELEMETRY_SUBSCRIPTIONS = 71, "GetTelemetrySubscriptions", "0", "0+"
    PUSH_TELEMETRY = 72, "PushTelemetry", "0", "0+"
    ASSIGN_REPLICAS_TO_DIRS = 73, "AssignReplicasToDirs", "0", "0+", INTER_BROKER
    LIST_CONFIG_RESOURCES = 74, "ListConfigResources", "0-1", "0+"
    DESCRIBE_TOPIC_PARTITIONS = 75, "DescribeTopicPartitions", "0", "0+"
    SHARE_GROUP_HEARTBEAT = 76, "ShareGroupHeartbeat", "1", "0+"
    SHARE_GROUP_DESCRIBE = 77, "ShareGroupDescribe", "1", "0+"
    SHARE_FETCH = 78, "ShareFetch", "1-2", "0+"
    SHARE_ACKNOWLEDGE = 79, "ShareAcknowledge", "1-2", "0+"
    ADD_RAFT_VOTER = 80, "AddRaftVoter", "0-1", "0+"
    REMOVE_RAFT_VOTER = 81, "RemoveRaftVoter", "0", "0+"
    UPDATE_RAFT_VOTER = 82, "UpdateRaftVoter", "0", "0+", INTER_BROKER
    INITIALIZE_SHARE_GROUP_STATE = 83, "InitializeShareGroupState", "0", "0+"
    READ_SHARE_GROUP_STATE = 84, "ReadShareGroupState", "0", "0+"
    WRITE_SHARE_GROUP_STATE = 85, "WriteShareGroupState", "0-1", "0+"
    DELETE_SHARE_GROUP_STATE = 86, "DeleteShareGroupState", "0", "0+"
    READ_SHARE_GROUP_STATE_SUMMARY = 87, "ReadShareGroupStateSummary", "0-1", "0+"
    STREAMS_GROUP_HEARTBEAT = 88, "StreamsGroupHeartbeat", "0-1", "0+"
    STREAMS_GROUP_DESCRIBE = 89, "StreamsGroupDescribe", "0-1", "0+"
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, "DescribeShareGroupOffsets", "0-1", "0+"
    ALTER_SHARE_GROUP_OFFSETS = 91, "AlterShareGroupOffsets", "0", "0+"
    DELETE_SHARE_GROUP_OFFSETS = 92, "DeleteShareGroupOffsets", "0", "0+"
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93, "StreamsGroupTopologyDescriptionUpdate", "0", "0+"
    UNREGISTER_CONTROLLER = 94, "UnregisterController", "0", "0+"


BY_KEY: Final[dict[int, Api]] = {int(api): api for api in Api}
BY_TITLE: Final[dict[str, Api]] = {api.title: api for api in Api}
