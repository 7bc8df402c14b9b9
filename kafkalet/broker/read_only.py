"""Which requests a broker serves that must not change its data directory (`serve --read-only`).

Everything that reads is served, and so are groups: their members and committed offsets are discarded when the broker
stops. Requests that would change records, topics, configurations, security, quotas, transactions or the cluster are
refused, and so is an API that is not in the list.

The error is POLICY_VIOLATION: clients do not retry it, and show the message. InitProducerId gets
CLUSTER_AUTHORIZATION_FAILED, because idempotent producers of librdkafka would retry all errors that they do not expect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .context import Context

ALLOWED = frozenset(
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
        Api.SASL_AUTHENTICATE,
        Api.SASL_HANDSHAKE,
        Api.SYNC_GROUP,
    }
)

CODES = {Api.INIT_PRODUCER_ID: Code.CLUSTER_AUTHORIZATION_FAILED}


def refusing(api: Api, refuse: Callable[[Any, Context, KafkaError], Any]) -> Callable[[Any, Context], Any]:
    """Return the handler of a refused API; `refuse` builds its error responses."""
    error = KafkaError(
        CODES.get(api, Code.POLICY_VIOLATION),
        f"{api} is refused because this broker is read-only; start it without --read-only (read_only=True) to allow it",
    )

    def handle(request: Any, context: Context) -> Any:
        return refuse(request, context, error)

    return handle
