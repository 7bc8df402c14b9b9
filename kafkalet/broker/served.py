"""The APIs that brokers serve, and those of them that a read-only broker refuses (`serve --read-only`).

Each served API has a module in `apis/`. A read-only broker serves all requests that only read, and those of consumer
groups. The members and the committed offsets of the groups are discarded when the broker stops. It refuses requests
that would change records, topics, configurations, security, quotas, transactions or the cluster.

The error is POLICY_VIOLATION: clients do not retry it, and show the message. InitProducerId gets
CLUSTER_AUTHORIZATION_FAILED, because idempotent producers of librdkafka would retry all errors that they do not expect.
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

READING = frozenset(
    {
        Api.API_VERSIONS,
        Api.CONSUMER_GROUP_DESCRIBE,
        Api.CONSUMER_GROUP_HEARTBEAT,
        Api.DELETE_GROUPS,
        Api.DESCRIBE_ACLS,
        Api.DESCRIBE_CLIENT_QUOTAS,
        Api.DESCRIBE_CLUSTER,
        Api.DESCRIBE_CONFIGS,
        Api.DESCRIBE_DELEGATION_TOKEN,
        Api.DESCRIBE_GROUPS,
        Api.DESCRIBE_LOG_DIRS,
        Api.DESCRIBE_PRODUCERS,
        Api.DESCRIBE_QUORUM,
        Api.DESCRIBE_SHARE_GROUP_OFFSETS,
        Api.DESCRIBE_TOPIC_PARTITIONS,
        Api.DESCRIBE_TRANSACTIONS,
        Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
        Api.FETCH,
        Api.FIND_COORDINATOR,
        Api.GET_TELEMETRY_SUBSCRIPTIONS,
        Api.HEARTBEAT,
        Api.JOIN_GROUP,
        Api.LEAVE_GROUP,
        Api.LIST_CONFIG_RESOURCES,
        Api.LIST_GROUPS,
        Api.LIST_OFFSETS,
        Api.LIST_PARTITION_REASSIGNMENTS,
        Api.LIST_TRANSACTIONS,
        Api.METADATA,
        Api.OFFSET_COMMIT,
        Api.OFFSET_DELETE,
        Api.OFFSET_FETCH,
        Api.OFFSET_FOR_LEADER_EPOCH,
        Api.PUSH_TELEMETRY,
        Api.READ_SHARE_GROUP_STATE,
        Api.READ_SHARE_GROUP_STATE_SUMMARY,
        Api.SASL_AUTHENTICATE,
        Api.SASL_HANDSHAKE,
        Api.SHARE_ACKNOWLEDGE,
        Api.SHARE_FETCH,
        Api.SHARE_GROUP_DESCRIBE,
        Api.SHARE_GROUP_HEARTBEAT,
        Api.SYNC_GROUP,
    }
)
"""The APIs that a read-only broker serves."""
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
SERVED = READING | CHANGING
"""All APIs with a handler. A broker advertises only those of the release it emulates."""


def read_only_error(api: Api) -> KafkaError:
    """Return the error with which a read-only broker refuses a request."""
    return KafkaError(
        Code.CLUSTER_AUTHORIZATION_FAILED if api is Api.INIT_PRODUCER_ID else Code.POLICY_VIOLATION,
        f"{api} is refused because this broker is read-only; start it without --read-only (read_only=True) to allow it",
    )
