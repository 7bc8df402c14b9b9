"""The table of allowed differences between the responses of a broker and the recorded ones.

Everything else is compared exactly. docs/scenario-format.md has the same table.
"""

from collections.abc import Container, Iterator, Mapping

MINUTES_MS = 10 * 60 * 1000
"""How far a time may be from the current time to count as `$NOW`."""
WAITED = 0.97
"""A response that takes this share of the maximum wait counts as "waited"."""

IGNORED: Mapping[str, str] = {
    "throttle_time_ms": "depends on quotas; without quotas it is 0, which is compared separately",
    "host": "is the address of the broker; that of an ACL is compared",
    "port": "is the address of the broker",
    "rack": "is the location of the broker",
}
"""Fields that are not compared, and why."""
OF_ACL = "permission_type"
"""Only an ACL has this field. Its host is the address of a client, and is compared."""

PLACEHOLDERS: Mapping[str, str] = {
    "$NODE": "any broker id of the cluster: ids are chosen by the operator",
    "$CLUSTER": "the id of the cluster: it is generated when the cluster is formatted",
    "$NOW": "a time within ten minutes of the current one: brokers fill in the time of the request",
    "$TEXT": "any text: error messages are not part of the protocol, and topic ids without a name are random",
    "$MAX": "the highest version that the broker advertises: it may serve newer versions",
    "$MEMBER": "a member id generated from the client id or the static id and a random UUID",
    "$UUID": "a random id in the form of Kafka's Uuid class",
    "$HMAC": "the 64 bytes of an HMAC with SHA-512: the secret of a delegation token depends on the key of the brokers",
    "$?name": "any number: the broker chooses it, for example a producer id, and later steps use it",
    "$name": "the value that the broker chose or the scenario generated earlier: ids, epochs, sessions, unique names",
}
"""The placeholders for varying values in recorded responses, and why the values vary."""

ORDERS = (
    *("name", "topic", "topic_id", "topic_name", "partition_index", "partition", "index", "group_id", "broker_id"),
    *("node_id", "producer_id", "transactional_id", "member_id", "entity_type", "user", "log_dir", "key", "mechanism"),
    *("resource_name", "resource_type", "pattern_type", "principal", "host", "operation", "permission_type"),
)
"""Items of arrays whose order depends on hash tables are sorted by these fields before they are compared."""
SETS = {"partitions": int, "subscribed_topic_names": str}
"""Arrays of plain values that Kafka keeps in hash tables, with the type of their values. They are compared as sets."""
IN_ORDER: Mapping[str, bool | frozenset[str]] = {
    **dict.fromkeys(("AlterPartitionReassignments", "CreatePartitions", "CreateTopics", "DescribeQuorum"), True),
    **dict.fromkeys(("DescribeTopicPartitions", "Fetch", "FindCoordinator", "IncrementalAlterConfigs"), True),
    **dict.fromkeys(("ListConfigResources", "UpdateFeatures"), True),
    "Metadata": frozenset({"topics"}),  # 3.9 returns partitions in the order of a hash set
}
"""APIs whose arrays Kafka returns in the order of the request or of ids: all arrays, or those of these fields.

The order of all others depends on hash tables."""


def is_ignored(field: str, fields: Container[str]) -> bool:
    """Return whether a field of a struct with these `fields` is not compared."""
    return field in IGNORED and not (field == "host" and OF_ACL in fields)


def table() -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield "| what | may differ, because it |"
    yield "| --- | --- |"
    for field, reason in IGNORED.items():
        yield f"| field `{field}` | {reason} |"
    for placeholder, reason in PLACEHOLDERS.items():
        yield f"| `{placeholder}` | is {reason} |"
    yield (
        "| `coordinator_epoch` | is the leader epoch of the coordinator's partition of `__transaction_state`, "
        "which is compared with Metadata |"
    )
    yield "| `elapsed` | is `waited` for every response that takes at least 97 % of `timing_max_wait_ms` |"
    yield f"| order of items with {_listed(ORDERS)} | depends on hash tables |"
    yield f"| order of values in {_listed(SETS)} | depends on hash tables |"
    whole = [api for api, fields in IN_ORDER.items() if fields is True]
    parts = [
        f"{api} (`{'`, `'.join(sorted(fields))}`)" for api, fields in IN_ORDER.items() if not isinstance(fields, bool)
    ]
    yield f"| not: order in {', '.join(whole + parts)} | is that of the request or of ids, and is compared |"


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
