"""The APIs that brokers and the controller serve, and those that a read-only broker refuses (`serve --read-only`).

Each served API has a module in `apis/`. The role of a server determines which of them its listeners serve; most
handlers are the same for both. A read-only broker serves all requests that only read, and those of consumer groups. The
members and the committed offsets of the groups are discarded when the broker stops. It refuses requests that would
change records, topics, configurations, security, quotas, transactions or the cluster.

The error is POLICY_VIOLATION: clients do not retry it, and show the message. InitProducerId gets
CLUSTER_AUTHORIZATION_FAILED, because idempotent producers of librdkafka would retry all errors that they do not expect.
"""

from collections.abc import Mapping
from enum import Enum

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.fields import Versions
from kafkalet.protocol.releases import advertised, advertised_by_controllers, versions_of

CHANGING = frozenset(
    {
        Api.ADD_OFFSETS_TO_TXN,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_RAFT_VOTER,
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
        Api.REMOVE_RAFT_VOTER,
        Api.RENEW_DELEGATION_TOKEN,
        Api.TXN_OFFSET_COMMIT,
        Api.UNREGISTER_BROKER,
        Api.UNREGISTER_CONTROLLER,
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
        *(Api.UNREGISTER_BROKER, Api.UPDATE_FEATURES, Api.ADD_RAFT_VOTER, Api.REMOVE_RAFT_VOTER),
        Api.UNREGISTER_CONTROLLER,
    }
)
"""The APIs whose requests a broker forwards to the controller (KIP-590)."""
SERVED = frozenset(api for api in Api if api.client_facing)
"""All APIs with a handler. A broker advertises only those of the release it emulates."""

_ONLY_ADVERTISED = (Api.FETCH, Api.DESCRIBE_USER_SCRAM_CREDENTIALS)
"""The APIs that a controller advertises, but does not serve to clients."""


class Role(Enum):
    """Who serves a listener."""

    BROKER = 1
    CONTROLLER = 2

    def served(self, release: str) -> dict[Api, tuple[int, int]]:
        """Return the APIs that are served, with the lowest and highest version of each."""
        versions = versions_of(release) if self is Role.BROKER else advertised_by_controllers(release)
        unserved = () if self is Role.BROKER else _ONLY_ADVERTISED
        return {api: (at.low, at.high) for api, at in versions.items() if api.client_facing and api not in unserved}

    def advertised(self, release: str) -> Mapping[Api, Versions]:
        """Return the versions in ApiVersions, ordered by API key."""
        if self is Role.CONTROLLER:
            return advertised_by_controllers(release)
        return {api: at for api, at in advertised(release).items() if api.client_facing}


def read_only_error(api: Api) -> KafkaError:
    """Return the error with which a read-only broker refuses a request."""
    return KafkaError(
        Code.CLUSTER_AUTHORIZATION_FAILED if api is Api.INIT_PRODUCER_ID else Code.POLICY_VIOLATION,
        f"{api} is refused because this broker is read-only; start it without --read-only (read_only=True) to allow it",
    )
