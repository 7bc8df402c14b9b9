"""Each version of each API in SERVED refuses a user without rights, changes nothing and reveals nothing.

The requests are made from the fields of the messages, so that a new API is tested without a change here. An API that
needs no right must be listed in OPEN.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.cluster.metadata_store import MetadataStore
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.client import decode_response
from kafkalet.protocol.errors import Code
from kafkalet.protocol.fields import REQUIRED, Field
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Struct
from kafkalet_conformance.playing.connection import Connection
from tests.unit.broker.apis.asking import plain
from tests.wire.brokers import batch

TIMEOUT_S = 60
REFUSALS = {code for code in Code if code.name.endswith("_AUTHORIZATION_FAILED")}
HIDDEN = b"concealed"
"""A part of everything that a request does not name."""
OPEN = {
    Api.API_VERSIONS: "it contains versions only",
    Api.SASL_HANDSHAKE: "it is refused because the client is authenticated",
    Api.SASL_AUTHENTICATE: "it is refused because the client is authenticated",
    Api.DESCRIBE_CLUSTER: "everybody may know the brokers",
    Api.METADATA: "everybody may know the brokers; a topic that does not exist has the error of one that is hidden",
    Api.DESCRIBE_LOG_DIRS: "directories are left out; older versions have no place for an error",
    Api.LIST_GROUPS: "groups that the client may not describe are left out",
    Api.LIST_TRANSACTIONS: "transactions that the client may not describe are left out",
    Api.CREATE_DELEGATION_TOKEN: "everybody may create tokens for himself",
    Api.DESCRIBE_DELEGATION_TOKEN: "tokens that the client may not describe are left out",
    Api.RENEW_DELEGATION_TOKEN: "the client is neither owner nor renewer",
    Api.EXPIRE_DELEGATION_TOKEN: "the client is neither owner nor renewer",
    Api.GET_TELEMETRY_SUBSCRIPTIONS: "everybody may send metrics",
    Api.PUSH_TELEMETRY: "everybody may send metrics",
}
CHANGES = {Api.CREATE_DELEGATION_TOKEN}
FIELDS: dict[str, Any] = {
    "group_id": "g",
    "groups": "g",
    "groups_names": "g",
    "group_ids": "g",
    "key": "g",
    "coordinator_keys": "g",
    "transactional_id": "x",
    "transactional_ids": "x",
    "transactional_id_pattern": ".*",
    "resource_type": 2,
    "mechanism": 1,
    "iterations": 4096,
    "acks": 1,
    "count": 3,
    "num_partitions": 1,
    "replication_factor": 1,
    "broker_ids": 1,
    "replicas": 1,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "transaction_timeout_ms": 10_000,
    "session_epoch": -1,
    "timestamp": -2,
    "protocol_type": "consumer",
    "protocol_name": "range",
    "timeout_ms": 1000,
    "feature": "group.version",
    "path": "/",
    "principal": "User:nobody",
    "host": "*",
    "entity_type": "user",
    "user": "nobody",
    "owners": None,
    "subscribed_topic_regex": ".*",
    "configuration_keys": None,
    "pattern_type_filter": 1,
    "resource_type_filter": 1,
    "resource_pattern_type": 3,
    "operation": 3,
    "permission_type": 3,
    "client_software_name": "a",
    "client_software_version": "a",
    "cursor": None,
    "value": "1",
}
"""Values of fields, by name. Other texts are "t", the name of the topic, and other numbers are 0."""
VALUES: dict[tuple[Api, str], Any] = {
    (Api.ALTER_CLIENT_QUOTAS, "value"): 1.0,
    (Api.ALTER_CLIENT_QUOTAS, "key"): "producer_byte_rate",
    (Api.ALTER_CONFIGS, "name"): "retention.ms",
    (Api.INCREMENTAL_ALTER_CONFIGS, "name"): "retention.ms",
    (Api.CREATE_TOPICS, "name"): "new",
    (Api.CREATE_TOPICS, "assignments"): [],
    (Api.CREATE_TOPICS, "configs"): [],
    (Api.CREATE_PARTITIONS, "assignments"): None,
    (Api.CREATE_ACLS, "operation"): 3,
    (Api.DESCRIBE_ACLS, "resource_name_filter"): None,
    (Api.DESCRIBE_ACLS, "operation"): 1,
    (Api.DESCRIBE_ACLS, "permission_type"): 1,
    (Api.DELETE_ACLS, "resource_name_filter"): None,
    (Api.DELETE_ACLS, "operation"): 1,
    (Api.DELETE_ACLS, "permission_type"): 1,
    (Api.LIST_GROUPS, "states_filter"): [],
    (Api.LIST_GROUPS, "types_filter"): [],
    (Api.LIST_TRANSACTIONS, "state_filters"): [],
    (Api.LIST_TRANSACTIONS, "producer_id_filters"): [],
    (Api.SASL_HANDSHAKE, "mechanism"): "PLAIN",
    (Api.DESCRIBE_USER_SCRAM_CREDENTIALS, "users"): None,
    (Api.DESCRIBE_CLIENT_QUOTAS, "components"): [],
    (Api.LIST_CONFIG_RESOURCES, "resource_types"): [],
    (Api.DELETE_TOPICS, "name"): None,  # the topics are named by id
    (Api.DESCRIBE_LOG_DIRS, "topics"): None,
    (Api.LIST_PARTITION_REASSIGNMENTS, "topics"): None,
    (Api.CREATE_DELEGATION_TOKEN, "renewers"): [],
    (Api.CREATE_DELEGATION_TOKEN, "owner_principal_name"): "",
    (Api.CREATE_DELEGATION_TOKEN, "owner_principal_type"): "",
    (Api.DELETE_RECORDS, "offset"): 1,
    (Api.DESCRIBE_TOPIC_PARTITIONS, "response_partition_limit"): 100,
}


class Cluster:
    """A cluster that contains something for each API to show or change, and the user nobody."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self.cluster = cluster
        self.server = cluster._server
        cluster.topic("t").create(1, config={"retention.ms": "1234567"})
        cluster.topic("concealed-topic").create(1)
        self.ids = {"topic_id": self.server.metadata.topics["t"].topic_id}
        cluster.topic("t").send("concealed-record")
        self.admin = self.connection("admin")
        self.prepare()

    def connection(self, user: str) -> Connection:
        host, _, port = self.cluster.bootstrap_servers.rpartition(":")
        return Connection(host, int(port), user, timeout_s=10)

    def prepare(self) -> None:
        ask = self.admin.ask
        for group in ("g", "concealed-group"):
            ask("FindCoordinator", 1, {"key": group, "key_type": 0})
            partition = {"partition_index": 0, "committed_offset": 0, "committed_metadata": "concealed-metadata"}
            body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
            topics = [{"name": "t", "partitions": [partition]}]
            assert ask("OffsetCommit", 2, body | {"topics": topics})["topics"][0]["partitions"][0]["error_code"] == 0
        for name in ("x", "concealed-transaction"):
            ask("FindCoordinator", 1, {"key": name, "key_type": 1})
            made = ask("InitProducerId", 0, {"transactional_id": name, "transaction_timeout_ms": 60_000})
            assert made["error_code"] == 0
        token = ask("CreateDelegationToken", 1, {"renewers": [], "max_lifetime_ms": -1})
        self.ids["hmac"] = bytes.fromhex(token["hmac"]["hex"])
        self.cluster.users.add("concealed-user", "secret")

    def state(self) -> Any:
        """Return the state of the cluster, for comparisons."""

        def look() -> Any:
            metadata = MetadataStore.encode(self.server.metadata, 0)
            logs = {}
            for name in self.server.metadata.topics:
                log = self.server.leadership.leader_of(name, 0).log
                logs[name] = log.log_start_offset, log.log_end_offset
            return metadata, logs, sorted(self.server.metadata.topics)

        return self.server.call(look)


def running(release: str) -> Iterator[Cluster]:
    config = {
        "delegation.token.secret.key": "key",
        "delegation.token.master.key": "key",
        "unstable.api.versions.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
    }
    users = {"nobody": "nobody"}
    with kafkalet.Cluster(version=release, users=users, super_users={"admin": "admin"}, config=config) as cluster:
        made = Cluster(cluster)
        try:
            yield made
        finally:
            made.admin.close()


@pytest.fixture(scope="module")
def newest() -> Iterator[Cluster]:
    yield from running("newest")


def request(cluster: Cluster, api: Api) -> Any:
    return _filled(cluster, api, request_type(api))


def _filled(cluster: Cluster, api: Api, struct: type[Struct]) -> Any:
    return struct(**{field.name: _value(cluster, api, field) for field in struct.FIELDS})


def _value(cluster: Cluster, api: Api, field: Field) -> Any:
    if (api, field.name) in VALUES:
        return VALUES[api, field.name]
    if field.struct is not None and field.name != "cursor":
        value = _filled(cluster, api, field.struct)
    elif field.name in cluster.ids:
        value = cluster.ids[field.name]
    elif field.name in FIELDS:
        value = FIELDS[field.name]
        if value is None:
            return None
    elif field.default is not REQUIRED and not field.array and field.name not in ("name", "topic"):
        return field.default
    else:
        kind = "" if field.wire is None else field.wire.name
        value = {"string": "t", "records": batch(b"v"), "bytes": b"", "uuid": bytes(16)}.get(kind, 0)
    return [value] if field.array else value


def ask(connection: Connection, api: Api, version: int, message: Any) -> tuple[bytes, Any]:
    """Return the response to a request, undecoded and decoded."""
    chunks: list[Any] = request_frame(message, version, 1, "client")
    connection.send_bytes(b"".join(chunks))
    frame = connection.receive_frame(time.monotonic() + TIMEOUT_S)
    return frame, plain(decode_response(api, version, frame).response)


def codes(answer: Any) -> list[int]:
    """Return all error codes in a response."""
    if isinstance(answer, list):
        return [code for item in answer for code in codes(item)]
    if not isinstance(answer, dict):
        return []
    own = [value for name, value in answer.items() if name.endswith("error_code")]
    return own + [code for value in answer.values() for code in codes(value)]


def versions(cluster: Cluster, api: Api) -> range:
    low, high = cluster.server.brokers[1].api_versions.get(api, (0, -1))
    return range(low, high + 1)


@pytest.mark.parametrize("api", sorted(SERVED), ids=str)
def test_user_without_rights_is_refused(newest: Cluster, api: Api) -> None:
    check(newest, api)


@pytest.mark.parametrize("release", ["2.8", "3.9"])
def test_user_without_rights_is_refused_by_older_releases(release: str) -> None:
    for cluster in running(release):
        for api in sorted(SERVED):
            check(cluster, api)


def check(cluster: Cluster, api: Api) -> None:
    connection = cluster.connection("nobody")
    try:
        for version in versions(cluster, api):
            before = cluster.state()
            frame, answer = ask(connection, api, version, request(cluster, api))
            where = f"{api} v{version}: {answer}"
            assert HIDDEN not in frame, where
            assert api in OPEN or (REFUSALS | {Code.UNSUPPORTED_VERSION}) & set(codes(answer)), where
            assert api in CHANGES or cluster.state() == before, where
    finally:
        connection.close()


def test_super_user_is_refused_none_of_the_requests() -> None:
    for cluster in running("newest"):
        before = cluster.state()
        for api in sorted(SERVED):
            _, answer = ask(cluster.admin, api, versions(cluster, api)[-1], request(cluster, api))
            assert not REFUSALS & set(codes(answer)), answer
        assert cluster.state() != before
