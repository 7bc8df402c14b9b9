"""Build the ACLs of a scenario, and the topics, groups and requests of a user with different rights.

Scenarios share a cluster and the users admin and user, so each one creates its own resources, and removes the ACLs
that it has created:

    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "described": (DESCRIBE,), "written": (WRITE,)})
    ...
    rights.remove()
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkalet_conformance.access import (
    ALLOW,
    ANY,
    CLUSTER,
    DENY,
    KAFKA_CLUSTER,
    LITERAL,
    PROPAGATION_MS,
    TOPIC_OPERATIONS,
    TOPICS,
    acl_filter,
)
from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step


def acl(kind: int, name: str, operation: int, pattern: int = LITERAL, **more: object) -> Step:
    """Return an ACL to create, by default one that grants the user an operation."""
    what = {"resource_type": kind, "resource_name": name, "resource_pattern_type": pattern}
    return what | {"principal": "User:user", "host": "*", "operation": operation, "permission_type": ALLOW} | more


def exactly(of: Step) -> Step:
    """Return the filter for one ACL."""
    return acl_filter(
        of["resource_type"],
        of["resource_name"],
        pattern_type_filter=of["resource_pattern_type"],
        principal_filter=of["principal"],
        host_filter=of["host"],
        operation=of["operation"],
        permission_type=of["permission_type"],
    )


def all_except(*operations: int, of: Iterable[int] = TOPIC_OPERATIONS) -> tuple[int, ...]:
    """Return all operations except these."""
    return tuple(each for each in of if each not in operations)


class Rights:
    """The ACLs that a scenario has created."""

    def __init__(self, ask: ScenarioBuilder) -> None:
        self.ask = ask
        self.created: list[Step] = []

    def create(self, *acls: Step) -> None:
        """Create ACLs, and wait until they are described."""
        if not acls:
            return
        self.ask.setup("CreateAcls", 2, {"creations": list(acls)})
        self.ask.until("DescribeAcls", 2, exactly(acls[-1]), "resources.0.resource_name", acls[-1]["resource_name"])
        self.ask.step("sleep", ms=PROPAGATION_MS)
        self.created += acls

    def grant(self, kind: int, name: str, *operations: int, **more: Any) -> None:
        """Allow the user operations on a resource."""
        self.create(*(acl(kind, name, operation, **more) for operation in operations))

    def deny(self, kind: int, name: str, *operations: int, **more: Any) -> None:
        """Deny the user operations on a resource."""
        self.grant(kind, name, *operations, permission_type=DENY, **more)

    def on_cluster(self, *operations: int, **more: Any) -> None:
        """Allow the user operations on the cluster."""
        self.grant(CLUSTER, KAFKA_CLUSTER, *operations, **more)

    def remove(self) -> None:
        """Delete all ACLs that were created, and wait until they are gone."""
        if not self.created:
            return
        self.ask.setup("DeleteAcls", 2, {"filters": [exactly(each) for each in self.created]})
        self.ask.until("DescribeAcls", 2, exactly(self.created[-1]), "resources", [])
        self.ask.step("sleep", ms=PROPAGATION_MS)
        self.created.clear()


def without_rights(ask: ScenarioBuilder) -> None:
    """Delete all ACLs of the user and of all users, for scenarios in which any right of the user would change the
    responses.
    """
    for principal in ("User:user", "User:*"):
        every = acl_filter(ANY, None, pattern_type_filter=ANY, principal_filter=principal)
        ask.setup("DeleteAcls", 2, {"filters": [every]})
        ask.until("DescribeAcls", 2, every, "resources", [])
    ask.step("sleep", ms=PROPAGATION_MS)


Kinds = Mapping[str, Iterable[int]]
"""The operations that the user may perform, by the name of the topic, group or transactional id."""


def of_kinds(ask: ScenarioBuilder, rights: Rights, existing: Kinds, missing: Kinds | None = None) -> dict[str, str]:
    """Create the topics in `existing`, bind names for those in `missing`, and grant the operations on each.

    The names of `missing` topics start with "missing" in the result.
    """
    found = {kind: ask.topic(kind) for kind in existing}
    found |= {f"missing {kind}": ask.let(f"m_{kind}", f"does-not-exist-<unique>-{kind}") for kind in missing or {}}
    granted = [*existing.values(), *(missing or {}).values()]
    acls = [
        acl(TOPICS, topic, each)
        for topic, operations in zip(found.values(), granted, strict=True)
        for each in operations
    ]
    rights.create(*acls)
    return found


def names_of_kinds(ask: ScenarioBuilder, rights: Rights, resource: int, kinds: Kinds) -> dict[str, str]:
    """Bind the names of groups or transactional ids, and grant the operations on each."""
    found = {kind: ask.let(f"n_{kind}", f"c<unique>.{ask.name}.{kind}") for kind in kinds}
    rights.create(*(acl(resource, found[kind], each) for kind, granted in kinds.items() for each in granted))
    return found


def unknown_id(ask: ScenarioBuilder) -> str:
    """Bind the id of a topic that does not exist. Return the notation of the id."""
    return ask.let("unknown.id", UNKNOWN_TOPIC_ID)


def ends(versions: range) -> list[int]:
    """Return the oldest and the newest of some versions."""
    return sorted({versions[0], versions[-1]}) if versions else []


def as_user(
    ask: ScenarioBuilder, api: str, bodies: Mapping[str, Step], low: int = 0, high: int = 99, **more: Any
) -> None:
    """Send requests as the user, in the oldest and in the newest version."""
    for v in ends(ask.versions(api, low, high)):
        for case, body in bodies.items():
            ask.request(f"{api} v{v}: {case}", api, v, body, conn="user", **more)


def together_and_alone(
    ask: ScenarioBuilder,
    api: str,
    items: Mapping[str, Any],
    body: Callable[[list[Any]], Step],
    low: int = 0,
    high: int = 99,
    any_order: bool = False,
    **more: Any,
) -> None:
    """In the oldest and the newest version, send one request for all items; then, in the newest version, one for each
    item. With `any_order`, the order of the results in the former is not compared.
    """
    mixed = more | ({"any_order": True} if any_order else {})
    versions = ends(ask.versions(api, low, high))
    for v in versions:
        ask.request(f"{api} v{v}: all", api, v, body(list(items.values())), conn="user", **mixed)
    for case, item in items.items():
        for v in versions[-1:]:
            ask.request(f"{api} v{v}: {case}", api, v, body([item]), conn="user", **more)
