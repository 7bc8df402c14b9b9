"""Histories of requests in which every field is random, derived from the declarations of the messages.

Names and ids are usually those of the topics, the group and the producer of the history. Sizes and counts are bounded,
because a broker would act on them. Requests that would change the broker itself are only validated.
"""

from collections.abc import Callable
from typing import Any

from kafkalet.protocol.api import BY_KEY
from kafkalet.protocol.messages import request_type
from kafkalet_conformance.building import T0, UNKNOWN_TOPIC_ID
from kafkalet_conformance.notation.messages import APIS

from .administration import KEYS, VALUES
from .history import History

LEFT_OUT = frozenset({
    "AddRaftVoter", "RemoveRaftVoter", "UnregisterBroker", "UnregisterController",  # change the cluster
    "PushTelemetry",  # its errors depend on the time of the last push
})  # fmt: skip
ONLY_ERRORS = frozenset({
    # These list everything, including what other histories have left, or their responses contain new ids.
    "ApiVersions", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster", "DescribeUserScramCredentials",
    "ListConfigResources", "ListGroups", "ListTransactions", "Metadata", "ListPartitionReassignments",
    "JoinGroup", "ConsumerGroupHeartbeat", "InitProducerId", "CreateDelegationToken", "ElectLeaders",
    "DescribeTopicPartitions", "DescribeLogDirs", "DescribeQuorum", "GetTelemetrySubscriptions",
})  # fmt: skip
WAITS_MS = (0, 5_000, 5_000, 5_000)
"""With a short timeout, it would be chance whether a change is made in time; with a timeout of 0, it never is."""
TEXTS = ("", "a", " ", "ä", "x" * 300, "null")
NUMBERS = (-2, -1, 0, 0, 1, 1, 2, 5, 100, 127)
BATCH = {"magic": 2, "records": [{"ts": T0, "key": "k", "value": "v"}]}

Draw = Callable[[History], Any]


def _one_of(*choices: Any) -> Draw:
    return lambda h: h.of(*choices)


_topic = _one_of("$t0", "$t0", "$t0", "$nope", "", "a b")
_group = _one_of("$G", "$G", "$G", "c.nobody", "")
_partition = _one_of(0, 0, 0, 1, 9, -1)
_time_out = _one_of(*WAITS_MS)
_wait = _one_of(0, 1, 50, 100)
_broker = _one_of(1, 1, 7, -1)

BY_NAME: dict[str, Draw] = {
    "topic": _topic, "topic_name": _topic, "topic_names": _topic, "subscribed_topic_names": _topic,
    "topic_id": _one_of("$t0.id", "$t0.id", UNKNOWN_TOPIC_ID, "ZERO"),
    "group_id": _group, "group": _group, "groups_names": _group, "group_ids": _group,
    "member_id": _one_of("", "nobody"), "group_instance_id": _one_of(None, "", "i1"),
    "transactional_id": _one_of("$X", "$X", "", "c.nobody"), "transactional_ids": _one_of("$X", "c.nobody"),
    "v3_and_below_transactional_id": _one_of("$X", "c.nobody"),
    "producer_id": _one_of("$P1", "$P1", -1, 987654321),
    "v3_and_below_producer_id": _one_of("$P1", 987654321),
    "producer_epoch": _one_of(0, 0, -1, 1, 5),
    "partition": _partition, "partition_index": _partition, "partition_indexes": _partition,
    "partition_id": _partition, "index": _partition,
    "num_partitions": _one_of(1, 2, -1, 0, -2), "count": _one_of(1, 2, 3, 0, -1),
    "replication_factor": _one_of(1, 1, -1, 0, -2, 5), "broker_ids": _broker, "replicas": _broker, "broker_id": _broker,
    "replica_id": _one_of(-1, -1, -2, 5), "acks": _one_of(-1, 1, 2, -2),
    "session_epoch": _one_of(-1, -1, 5, -2), "session_id": _one_of(0, 0, 1, -1),
    "timestamp": _one_of(-1, -2, -3, -4, -5, -7, 0, T0), "max_num_offsets": _one_of(1, 2, 0, 5),
    "config_operation": _one_of(0, 1, 2, 3),  # other values make Kafka's controller resign
    "resource_type": _one_of(2, 2, 2, 0, 3, 16, 32, 77), "election_type": _one_of(0, 1, 9, -1),
    "validate_only": _one_of(True), "allow_auto_topic_creation": _one_of(False),
    "configuration_keys": _one_of(*KEYS), "config_name": _one_of(*KEYS), "value": _one_of(*VALUES),
    "key_type": _one_of(0, 1, 2, 7, -1), "isolation_level": _one_of(0, 1, 2, -1), "records": _one_of([BATCH], [], None),
}  # fmt: skip
NAMES: dict[str, Draw] = {
    "CreateTopics": _one_of("$t0", "$new", "", "a b"), "AlterClientQuotas": _one_of("producer_byte_rate", "nope"),
}  # fmt: skip
"""What a field `name` of an API stands for, where it is not a topic."""


def any_request(h: History) -> None:
    """Send requests of any API."""
    h.make_topics(1, 1, dict)
    h.unknown_topic()
    h.let("new", "c<unique>.h.new")
    h.coordinator(h.let("G", "c<unique>.h.G"))
    h.coordinator(h.let("X", "c<unique>.h.X"), 1)
    body = {"transactional_id": "$X", "transaction_timeout_ms": 60000}
    version = h.version("InitProducerId", 0, 5)
    h.setup("InitProducerId", version, body, bind={"P1": "producer_id"}, retry_errors=[14, 15, 16, 51])
    served = [BY_KEY[key].title for key in sorted(h.served) if BY_KEY[key].client_facing]
    usable = [api for api in served if api not in LEFT_OUT and h.versions(api)]
    for _ in range(h.dice.randint(10, 30)):
        api = h.dice.choice(usable)
        version = h.version(api)
        body = drawn(h, request_type(APIS[api]), api, version)
        h.ask(api, version, body, **({"only": ["error_code", "connection"]} if api in ONLY_ERRORS else {}))


def drawn(h: History, message: Any, api: str, version: int) -> dict[str, Any]:
    """Return a struct with a random value in each field of this version; some tagged fields are left out."""
    return {
        field.name: value_of(h, field, api, version)
        for field in message.FIELDS
        if version in field.versions and (field.tag is None or h.chance(0.3))
    }


def value_of(h: History, field: Any, api: str, version: int) -> Any:
    """Return a random value of a field."""
    is_nullable = version in field.nullable
    if is_nullable and h.chance(0.15):
        return None
    if field.array:
        return [value_of(h, field._replace(array=False), api, version) for _ in range(h.of(0, 1, 1, 1, 2))]
    if field.struct:
        return drawn(h, field.struct, api, version)
    value = scalar(h, field, api)
    return value if value is not None or is_nullable else "" if field.wire.name == "string" else []


def scalar(h: History, field: Any, api: str) -> Any:
    """Return a random value of a field that is neither an array nor a struct."""
    draw = NAMES.get(api, _topic) if field.name == "name" else BY_NAME.get(field.name)
    if draw is None and field.name.endswith(("timeout_ms", "wait_ms")):
        draw = _time_out if field.name == "timeout_ms" else _wait
    kind = field.wire.name
    if draw is not None and fits(value := draw(h), kind):
        return value
    match kind:
        case "string":
            return h.of(*TEXTS)
        case "bool":
            return h.chance(0.5)
        case "uuid":
            return h.of("$t0.id", UNKNOWN_TOPIC_ID, "ZERO")
        case "bytes":
            return h.of("", "abc")
        case "records":
            return [BATCH]
        case "float64":
            return h.of(0.0, 1.0, 1e9)
    return h.of(*NUMBERS)


def fits(value: Any, kind: str) -> bool:
    """Return whether a field of this kind can hold a value; a bound name stands for text or for a number."""
    if value is None:
        return True
    if isinstance(value, str):
        return kind in ("string", "uuid", "bytes") or value.startswith("$P")
    if isinstance(value, bool):
        return kind == "bool"
    return kind == "records" if isinstance(value, list) else kind.startswith(("int", "uint"))
