"""The request handlers: one module per API, named as in `kafkalet.protocol.api`.

    def handle(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse

A handler is a plain function. It returns the response, a `Delayed` response if the request has to wait (purgatory.py),
or None if the client expects no response (Produce with acks=0). If it raises KafkaError, the whole request fails, and
the client gets the error response of `network/error_responses.py`. If Kafka answers errors of this API in another way,
the module defines it:

    def refuse(request: JoinGroupRequest, context: Context, error: KafkaError) -> JoinGroupResponse

The router imports a module when the first request for its API arrives, so that brokers start quickly.
"""

from kafkalet.protocol.api import Api

SERVED: frozenset[Api] = frozenset(
    {
        Api.ADD_OFFSETS_TO_TXN,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ALTER_CLIENT_QUOTAS,
        Api.ALTER_CONFIGS,
        Api.ALTER_PARTITION_REASSIGNMENTS,
        Api.ALTER_REPLICA_LOG_DIRS,
        Api.ALTER_USER_SCRAM_CREDENTIALS,
        Api.API_VERSIONS,
        Api.CONSUMER_GROUP_DESCRIBE,
        Api.CONSUMER_GROUP_HEARTBEAT,
        Api.CREATE_ACLS,
        Api.CREATE_DELEGATION_TOKEN,
        Api.CREATE_PARTITIONS,
        Api.CREATE_TOPICS,
        Api.DELETE_ACLS,
        Api.DELETE_GROUPS,
        Api.DELETE_RECORDS,
        Api.DELETE_TOPICS,
        Api.DESCRIBE_ACLS,
        Api.DESCRIBE_CLIENT_QUOTAS,
        Api.DESCRIBE_CLUSTER,
        Api.DESCRIBE_CONFIGS,
        Api.DESCRIBE_DELEGATION_TOKEN,
        Api.DESCRIBE_GROUPS,
        Api.DESCRIBE_LOG_DIRS,
        Api.DESCRIBE_PRODUCERS,
        Api.DESCRIBE_QUORUM,
        Api.DESCRIBE_TOPIC_PARTITIONS,
        Api.DESCRIBE_TRANSACTIONS,
        Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
        Api.ELECT_LEADERS,
        Api.END_TXN,
        Api.EXPIRE_DELEGATION_TOKEN,
        Api.FETCH,
        Api.GET_TELEMETRY_SUBSCRIPTIONS,
        Api.FIND_COORDINATOR,
        Api.HEARTBEAT,
        Api.INCREMENTAL_ALTER_CONFIGS,
        Api.INIT_PRODUCER_ID,
        Api.JOIN_GROUP,
        Api.LEAVE_GROUP,
        Api.LIST_GROUPS,
        Api.LIST_CONFIG_RESOURCES,
        Api.LIST_OFFSETS,
        Api.LIST_PARTITION_REASSIGNMENTS,
        Api.LIST_TRANSACTIONS,
        Api.METADATA,
        Api.OFFSET_COMMIT,
        Api.OFFSET_DELETE,
        Api.OFFSET_FETCH,
        Api.OFFSET_FOR_LEADER_EPOCH,
        Api.PRODUCE,
        Api.PUSH_TELEMETRY,
        Api.RENEW_DELEGATION_TOKEN,
        Api.SASL_AUTHENTICATE,
        Api.SASL_HANDSHAKE,
        Api.SYNC_GROUP,
        Api.TXN_OFFSET_COMMIT,
        Api.UPDATE_FEATURES,
        Api.WRITE_TXN_MARKERS,
    }
)
"""The APIs that have a handler in this package. A broker advertises only the APIs of the release it emulates."""
