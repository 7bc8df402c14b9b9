"""The numbers and filters of ACLs, as requests encode them."""

from .building import Step

ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
TOPICS, GROUPS, CLUSTER, TRANSACTIONAL_IDS = 2, 3, 4, 5
KAFKA_CLUSTER = "kafka-cluster"
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
DENY, ALLOW = 2, 3
TOPIC_OPERATIONS = (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_OPERATIONS = (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)
PROPAGATION_MS = 60
"""How long to wait until the controller knows an ACL that the broker describes."""


def acl_filter(kind: int, name: str | None, **more: object) -> Step:
    """Return a filter, by default for all ACLs of one literal name."""
    what = {"resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": LITERAL}
    anyone = {"principal_filter": None, "host_filter": None, "operation": ANY, "permission_type": ANY}
    return what | anyone | more
