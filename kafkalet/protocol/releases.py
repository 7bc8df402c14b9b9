"""The API versions that each Apache Kafka release supports.

For each API, the table lists the releases that changed its versions, oldest first: `4.0:4-17` means "versions 4 to 17
since 4.0", `4.1:18` raises the maximum version and keeps the minimum, and `3.3:-` removes the API. The table describes
the last patch release of each line, as seen on a client listener, with ZooKeeper up to 3.2 and KRaft since 3.3.
Versions that require `unstable.api.versions.enable` are not included.

The versions that a release *advertises* in ApiVersions differ from those that it *supports* in three ways:

* ZooKeeper-based brokers also advertise inter-broker APIs such as LeaderAndIsr, which clients cannot use;
* Kafka 4.x advertises Produce from version 0 although it supports only version 3 and later, because librdkafka
  checks for the old versions before it uses compression (KAFKA-18659);
* the two client telemetry APIs are advertised only if a metrics receiver is installed (KIP-714).

A controller with KRaft has listeners of its own (KIP-919), with some of these APIs and others between brokers and
controllers.

`newest` is the union of all releases: every version that any release supports.
"""

from collections.abc import Mapping
from functools import cache

from .api import BY_TITLE, Api
from .fields import Versions

NEWEST = "newest"

RELEASES = (
    *("0.8.2", "0.9", "0.10.0", "0.10.1", "0.10.2", "0.11", "1.0", "1.1"),
    *("2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
    *("4.0", "4.1", "4.2", "4.3", "4.4"),
    NEWEST,
)
"""The names of the releases that can be emulated, oldest first."""

_TABLE = """\
Produce                        0.8.2:0 0.9:1 0.10.0:2 0.11:3 1.0:5 2.0:6 2.1:7 2.4:8 2.8:9 3.7:10 3.8:11 4.0:3-12 4.1:13
Fetch                          0.8.2:0 0.9:1 0.10.0:2 0.10.1:3 0.11:5 1.0:6 1.1:7 2.0:8 2.1:10 2.3:11 2.7:12 3.1:13
                               3.5:15 3.7:16 3.9:17 4.0:4-17 4.1:18
ListOffsets                    0.8.2:0 0.10.1:1 0.11:2 2.0:3 2.1:4 2.2:5 2.8:6 3.0:7 3.5:8 3.9:9 4.0:1-10 4.2:11
Metadata                       0.8.2:0 0.10.0:1 0.10.1:2 0.11:4 1.0:5 2.0:6 2.1:7 2.3:8 2.4:9 2.8:11 3.1:12 4.0:13
LeaderAndIsr                   0.9:0 1.0:1 2.2:2 2.4:4 2.8:5 3.2:6 3.3:-
StopReplica                    0.9:0 2.2:1 2.4:2 2.6:3 3.3:-
UpdateMetadata                 0.9:1 0.10.0:2 0.10.2:3 1.0:4 2.2:5 2.4:6 2.8:7 3.3:-
ControlledShutdown             0.9:1-1 1.0:0-1 2.2:2 2.4:3 3.3:-
OffsetCommit                   0.8.2:1 0.9:2 0.11:3 2.0:4 2.1:6 2.3:7 2.4:8 3.7:9 4.0:2-9 4.2:10
OffsetFetch                    0.8.2:1 0.10.2:2 0.11:3 2.0:4 2.1:5 2.4:6 2.5:7 3.0:8 3.7:9 4.0:1-9 4.2:10
FindCoordinator                0.8.2:0 0.11:1 2.0:2 2.4:3 3.0:4 3.8:5 3.9:6
JoinGroup                      0.9:0 0.10.1:1 0.11:2 2.0:3 2.2:4 2.3:5 2.4:6 2.5:7 3.2:9
Heartbeat                      0.9:0 0.11:1 2.0:2 2.3:3 2.4:4
LeaveGroup                     0.9:0 0.11:1 2.0:2 2.4:4 3.2:5
SyncGroup                      0.9:0 0.11:1 2.0:2 2.3:3 2.4:4 2.5:5
DescribeGroups                 0.9:0 0.11:1 2.0:2 2.3:3 2.4:5 4.0:6
ListGroups                     0.9:0 0.11:1 2.0:2 2.4:3 2.6:4 3.8:5
SaslHandshake                  0.10.0:0 1.0:1
ApiVersions                    0.10.0:0 0.11:1 2.0:2 2.4:3 3.9:4 4.4:5
CreateTopics                   0.10.1:0 0.10.2:1 0.11:2 2.0:3 2.4:5 2.7:6 2.8:7 4.0:2-7
DeleteTopics                   0.10.1:0 0.11:1 2.0:2 2.1:3 2.4:4 2.7:5 2.8:6 4.0:1-6
DeleteRecords                  0.11:0 2.0:1 2.6:2
InitProducerId                 0.11:0 2.0:1 2.4:2 2.5:3 2.7:4 3.8:5
OffsetForLeaderEpoch           0.11:0 2.0:1 2.1:2 2.3:3 2.8:4 4.0:2-4
AddPartitionsToTxn             0.11:0 2.0:1 2.7:2 2.8:3 3.6:4 3.8:5
AddOffsetsToTxn                0.11:0 2.0:1 2.7:2 2.8:3 3.8:4
EndTxn                         0.11:0 2.0:1 2.7:2 2.8:3 3.8:4 4.0:5
WriteTxnMarkers                0.11:0 2.8:1 4.0:1-1 4.2:2
TxnOffsetCommit                0.11:0 2.0:1 2.1:2 2.5:3 3.8:4 4.0:5 4.4:6
DescribeAcls                   0.11:0 2.0:1 2.5:2 3.3:3 4.0:1-3
CreateAcls                     0.11:0 2.0:1 2.5:2 3.3:3 4.0:1-3
DeleteAcls                     0.11:0 2.0:1 2.5:2 3.3:3 4.0:1-3
DescribeConfigs                0.11:0 1.1:1 2.0:2 2.6:3 2.8:4 4.0:1-4
AlterConfigs                   0.11:0 2.0:1 2.8:2
AlterReplicaLogDirs            1.0:0 2.0:1 2.8:2 4.0:1-2
DescribeLogDirs                1.0:0 2.0:1 2.6:2 3.2:3 3.3:4 4.0:1-4 4.3:5
SaslAuthenticate               1.0:0 2.2:1 2.5:2
CreatePartitions               1.0:0 2.0:1 2.5:2 2.7:3
CreateDelegationToken          1.1:0 2.0:1 2.4:2 3.3:- 3.6:3 4.0:1-3
RenewDelegationToken           1.1:0 2.0:1 2.5:2 3.3:- 3.6:2 4.0:1-2
ExpireDelegationToken          1.1:0 2.0:1 2.5:2 3.3:- 3.6:2 4.0:1-2
DescribeDelegationToken        1.1:0 2.0:1 2.5:2 3.3:- 3.6:3 4.0:1-3
DeleteGroups                   1.1:0 2.0:1 2.4:2 4.4:3
ElectLeaders                   2.2:0 2.4:2
IncrementalAlterConfigs        2.3:0 2.4:1
AlterPartitionReassignments    2.4:0 4.1:1
ListPartitionReassignments     2.4:0
OffsetDelete                   2.4:0
DescribeClientQuotas           2.6:0 2.8:1
AlterClientQuotas              2.6:0 2.8:1
DescribeUserScramCredentials   2.7:0 3.3:- 3.5:0
AlterUserScramCredentials      2.7:0 3.3:- 3.5:0
DescribeQuorum                 3.3:1 3.9:2
AlterPartition                 2.7:0 3.2:1 3.3:-
UpdateFeatures                 2.7:0 3.3:1 4.0:2
DescribeCluster                2.8:0 3.7:1 4.0:2
DescribeProducers              2.8:0
UnregisterBroker               3.3:0
DescribeTransactions           3.0:0
ListTransactions               3.0:0 3.8:1 4.1:2
AllocateProducerIds            3.0:0 3.3:-
ConsumerGroupHeartbeat         3.7:0 4.0:1
ConsumerGroupDescribe          3.8:0 4.0:1
GetTelemetrySubscriptions      3.7:0
PushTelemetry                  3.7:0
ListConfigResources            3.7:0 4.1:1
DescribeTopicPartitions        3.8:0
ShareGroupHeartbeat            4.1:1-1
ShareGroupDescribe             4.1:1-1
ShareFetch                     4.1:1-1 4.2:2
ShareAcknowledge               4.1:1-1 4.2:2
AddRaftVoter                   3.9:0 4.2:1
RemoveRaftVoter                3.9:0
InitializeShareGroupState      4.1:0
ReadShareGroupState            4.1:0
WriteShareGroupState           4.1:0 4.2:1
DeleteShareGroupState          4.1:0
ReadShareGroupStateSummary     4.1:0 4.2:1
StreamsGroupHeartbeat          4.2:0 4.4:1
StreamsGroupDescribe           4.2:0 4.4:1
DescribeShareGroupOffsets      4.1:0 4.2:1
AlterShareGroupOffsets         4.1:0
DeleteShareGroupOffsets        4.1:0
StreamsGroupTopologyDescriptionUpdate 4.4:0
UnregisterController           4.4:0
"""

_OF_CONTROLLERS = """\
ControlledShutdown             3.3:3 4.0:-
DescribeConfigs                3.7:4 4.0:1-4
Vote                           3.3:0 3.9:1 4.0:2
BeginQuorumEpoch               3.3:0 3.9:1
EndQuorumEpoch                 3.3:0 3.9:1
AlterPartition                 3.3:2 3.5:3 4.0:2-3
Envelope                       3.3:0
FetchSnapshot                  3.3:0 3.9:1
DescribeCluster                3.7:1 4.0:2
BrokerRegistration             3.3:0 3.4:1 3.7:3 3.9:4
BrokerHeartbeat                3.3:0 3.7:1 4.3:2
AllocateProducerIds            3.3:0
ControllerRegistration         3.7:0
AssignReplicasToDirs           3.7:0
UpdateRaftVoter                3.9:0
"""
_ALSO_OF_CONTROLLERS = (
    *(Api.FETCH, Api.SASL_HANDSHAKE, Api.API_VERSIONS, Api.CREATE_TOPICS, Api.DELETE_TOPICS, Api.DESCRIBE_ACLS),
    *(Api.CREATE_ACLS, Api.DELETE_ACLS, Api.ALTER_CONFIGS, Api.SASL_AUTHENTICATE, Api.CREATE_PARTITIONS),
    *(Api.CREATE_DELEGATION_TOKEN, Api.RENEW_DELEGATION_TOKEN, Api.EXPIRE_DELEGATION_TOKEN),
    *(Api.DESCRIBE_DELEGATION_TOKEN, Api.ELECT_LEADERS, Api.INCREMENTAL_ALTER_CONFIGS),
    *(Api.ALTER_PARTITION_REASSIGNMENTS, Api.LIST_PARTITION_REASSIGNMENTS, Api.ALTER_CLIENT_QUOTAS),
    *(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, Api.ALTER_USER_SCRAM_CREDENTIALS, Api.DESCRIBE_QUORUM),
    *(Api.UPDATE_FEATURES, Api.UNREGISTER_BROKER, Api.ADD_RAFT_VOTER, Api.REMOVE_RAFT_VOTER),
    Api.UNREGISTER_CONTROLLER,
)
"""The APIs that controllers with KRaft support in the same versions as brokers."""

_LISTED_WITH_A_RECEIVER = (Api.GET_TELEMETRY_SUBSCRIPTIONS, Api.PUSH_TELEMETRY)


@cache
def versions_of(release: str) -> Mapping[Api, Versions]:
    """Return the API versions that clients can use with a release. Raises LookupError unless it is one of RELEASES."""
    return {api: versions for api, versions in _of(release).items() if api.client_facing}


@cache
def advertised(release: str) -> Mapping[Api, Versions]:
    """Return the versions that a release advertises in ApiVersions, ordered by API key.

    Raises LookupError unless the release is one of RELEASES.
    """
    listed = {api: versions for api, versions in _of(release).items() if api not in _LISTED_WITH_A_RECEIVER}
    listed[Api.PRODUCE] = Versions(0, listed[Api.PRODUCE].high)
    return listed


@cache
def advertised_by_controllers(release: str) -> Mapping[Api, Versions]:
    """Return the versions that the controller of a release supports and advertises, ordered by API key.

    Releases before 3.3 have no such controller. Raises LookupError unless the release is one of RELEASES.
    """
    steps, of_brokers = _steps(_OF_CONTROLLERS), _of(release)
    if release == NEWEST:
        return {api: api.versions for api in Api if api in steps or api in _ALSO_OF_CONTROLLERS}
    found = {api: _at(release, steps[api]) if api in steps else of_brokers.get(api) for api in Api}
    is_known = RELEASES.index(release) >= RELEASES.index("3.3")
    return {
        api: at
        for api, at in found.items()
        if is_known and at is not None and (api in steps or api in _ALSO_OF_CONTROLLERS)
    }


@cache
def _of(release: str) -> dict[Api, Versions]:
    if release not in RELEASES:
        raise LookupError(f"unknown Kafka release {release!r}; supported are {', '.join(RELEASES)}")
    if release == NEWEST:
        return {api: api.versions for api in Api if api.client_facing}
    return {api: at for api, steps in _steps(_TABLE).items() if (at := _at(release, steps)) is not None}


def _at(release: str, steps: list[str]) -> Versions | None:
    """Return the versions of an API in a release, or None if the release does not have it."""
    now: Versions | None = None
    for step in steps:
        since, _, change = step.partition(":")
        if RELEASES.index(since) > RELEASES.index(release):
            break
        if change == "-":
            now = None
        elif "-" in change:
            now = Versions.parse(change)
        else:
            now = Versions(now.low if now else 0, int(change))
    return now


def _steps(table: str) -> dict[Api, list[str]]:
    steps: dict[Api, list[str]] = {}
    changes: list[str] = []
    for line in table.splitlines():
        words = line.split()
        if not line.startswith(" "):
            changes = steps[BY_TITLE[words.pop(0)]] = []
        changes += words
    return steps
