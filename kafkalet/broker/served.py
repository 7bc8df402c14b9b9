"""The APIs that brokers serve, and those of them that a read-only broker refuses (`serve --read-only`).

Each served API has a module in `apis/`. A read-only broker serves all requests that only read, and those of consumer
groups. The members and the committed offsets of the groups are discarded when the broker stops. It refuses requests
that would change records, topics, configurations, security, quotas, transactions or the cluster.

The error is POLICY_VIOLATION: clients do not retry it, and show the message. InitProducerId gets
CLUSTER_AUTHORIZATION_FAILED, because idempotent producers of librdkafka would retry all errors that they do not expect.
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

CHANGING = frozenset(
    {
        Api.ADD_OFFSETS_TO_TXN,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ALTER_CLIENT_QUOTAS,
        Api.ALTER_CONFIGS,
        Api.ALTER_PARTITION_REASSIGNMENTS,
        Api.ALTER_REPLICA_LOG_DIRS,
        Api.ALTER_SHARE_GROUP_OFFSETS,
        Api.ALTER_USER_SCRAM_CREDENTIALS,
        Api.CREATE_ACLS,
        Api.CREATE_DELEGATION_TOKEN,
        Api.CREATE_PARTITIONS,
        Api.CREATE_TOPICS,
        Api.DELETE_ACLS,
        Api.DELETE_RECORDS,
        Api.DELETE_SHARE_GROUP_OFFSETS,
        Api.DELETE_SHARE_GROUP_STATE,
        Api.DELETE_TOPICS,
        Api.ELECT_LEADERS,
        Api.END_TXN,
        Api.EXPIRE_DELEGATION_TOKEN,
        Api.INCREMENTAL_ALTER_CONFIGS,
        Api.INITIALIZE_SHARE_GROUP_STATE,
        Api.INIT_PRODUCER_ID,
        Api.PRODUCE,
        Api.RENEW_DELEGATION_TOKEN,
        Api.TXN_OFFSET_COMMIT,
        Api.UNREGISTER_BROKER,
        Api.UPDATE_FEATURES,
        Api.WRITE_SHARE_GROUP_STATE,
        Api.WRITE_TXN_MARKERS,
    }
)
FORWARDED = frozenset(
    {
        *(Api.ALTER_CLIENT_QUOTAS, Api.ALTER_CONFIGS, Api.ALTER_PARTITION_REASSIGNMENTS, Api.CREATE_ACLS),
        *(Api.ALTER_USER_SCRAM_CREDENTIALS, Api.CREATE_DELEGATION_TOKEN, Api.CREATE_PARTITIONS, Api.CREATE_TOPICS),
        *(Api.DELETE_ACLS, Api.DELETE_TOPICS, Api.DESCRIBE_QUORUM, Api.ELECT_LEADERS, Api.EXPIRE_DELEGATION_TOKEN),
        *(Api.INCREMENTAL_ALTER_CONFIGS, Api.LIST_PARTITION_REASSIGNMENTS, Api.RENEW_DELEGATION_TOKEN),
        *(Api.UNREGISTER_BROKER, Api.UPDATE_FEATURES),
    }
)
"""The APIs whose requests a broker forwards to the controller (KIP-590)."""
_UNSERVED = frozenset({Api.ADD_RAFT_VOTER, Api.REMOVE_RAFT_VOTER, Api.UNREGISTER_CONTROLLER})
SERVED = frozenset(api for api in Api if api.client_facing) - _UNSERVED
"""All APIs with a handler. A broker advertises only those of the release it emulates."""


def read_only_error(api: Api) -> KafkaError:
    """Return the error with which a read-only broker refuses a request."""
    return KafkaError(
        Code.CLUSTER_AUTHORIZATION_FAILED if api is Api.INIT_PRODUCER_ID else Code.POLICY_VIOLATION,
        f"{api} is refused because this broker is read-only; start it without --read-only (read_only=True) to allow it",
    )
