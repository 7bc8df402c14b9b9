"""AlterClientQuotas and DescribeClientQuotas."""

from collections.abc import Mapping
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import Scenarios

scenario = Scenarios("quotas")

EXACT, DEFAULT, ANY = 0, 1, 2
PRODUCE, CONSUME, REQUEST, MUTATION = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"),
)
CONNECT = "connection_creation_rate"
HUGE = 1e15
Entity = Mapping[str, str | None]


def entry(entity: Entity, **values: float | None) -> Step:
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()]
    return {"entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()], "ops": ops}


def alter(ask: ScenarioBuilder, case: str, *entries: Step, version: int = 1, **body: Any) -> None:
    ask.request(case, "AlterClientQuotas", version, {"entries": list(entries), "validate_only": False} | body)


def filtering(*components: tuple[str, int, str | None], strict: bool = False) -> Step:
    given = [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components]
    return {"components": given, "strict": strict}


def describe(
    ask: ScenarioBuilder, case: str, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> None:
    ask.request(case, "DescribeClientQuotas", version, filtering(*components, strict=strict))


def wait_for_quota(ask: ScenarioBuilder, kind: str, name: str | None, count: int) -> None:
    """Wait until the broker has applied or removed a quota."""
    how = EXACT if name is not None else DEFAULT
    values = "entries.0.values.0.key"
    if not count:
        ask.until("DescribeClientQuotas", 1, filtering((kind, how, name), strict=True), "entries", [])
    else:
        ask.until("DescribeClientQuotas", 1, filtering((kind, how, name), strict=True), values, PRODUCE)


@scenario("KIP-546 ClientQuotaControlManager.validateEntity ClientQuotaControlManager.validateQuotaKeyValue")
def alter_quotas_errors(ask: ScenarioBuilder) -> None:
    """AlterClientQuotas returns INVALID_REQUEST for invalid entities, unknown keys and impossible values, and changes
    nothing of an entry that has an error."""
    u = ask.let("u", "u<unique>")
    for v in ask.versions("AlterClientQuotas"):
        for case, entity in (
            ("nobody", {}),
            ("an unknown type", {"group": u}),
            ("an empty type", {"": u}),
            ("a user and an address", {"user": u, "ip": "1.2.3.4"}),
            ("a client and an address", {"client-id": u, "ip": "1.2.3.4"}),
            ("no address", {"ip": "not.an.address.invalid"}),
            ("an empty user", {"user": ""}),
            ("an empty client", {"client-id": ""}),
            ("an empty address", {"ip": ""}),
        ):
            alter(ask, f"v{v} {case}", entry(entity, producer_byte_rate=HUGE), version=v)
        for case, values in (
            ("an unknown key", {"nope": 1.0}),
            ("zero", {PRODUCE: 0.0}),
            ("less than zero", {PRODUCE: -1.0}),
            ("half a byte", {PRODUCE: 1000.5}),
            ("too many bytes", {PRODUCE: 1e30}),
            ("half a percent", {REQUEST: 0.5}),
            ("zero percent", {REQUEST: 0.0}),
            ("half a mutation", {MUTATION: 0.5}),
            ("no mutations", {MUTATION: 0.0}),
            ("of addresses", {CONNECT: 5.0}),
            ("a good and a bad one", {CONSUME: HUGE, "nope": 1.0}),
        ):
            alter(ask, f"v{v} {case}", entry({"user": u}, **values), version=v, validate_only=True)
        for case, values in (
            ("bytes of an address", {PRODUCE: 5.0}),
            ("half a connection", {CONNECT: 0.5}),
            ("less than no connection", {CONNECT: -1.0}),
            ("no connection", {CONNECT: 0.0}),
            ("connections", {CONNECT: 5.0}),
            ("too many connections", {CONNECT: 1e12}),
        ):
            alter(ask, f"v{v} {case}", entry({"ip": "10.1.2.3"}, **values), version=v, validate_only=True)
        alter(ask, f"v{v} nothing to do", entry({"user": u}), version=v)
        alter(ask, f"v{v} nothing at all", version=v)
        twice = entry({"user": u}, producer_byte_rate=HUGE)
        alter(ask, f"v{v} one twice", twice, twice, version=v, validate_only=True)
        same = {"key": PRODUCE, "value": HUGE, "remove": False}
        alter(ask, f"v{v} a key twice", twice | {"ops": [same, same]}, version=v, validate_only=True)
        two = [{"entity_type": "user", "entity_name": u}, {"entity_type": "user", "entity_name": "other"}]
        alter(ask, f"v{v} a type twice", twice | {"entity": two}, version=v, validate_only=True)
        alter(ask, f"v{v} removed where none is", entry({"user": u}, producer_byte_rate=None), version=v)
        alter(ask, f"v{v} unknown removed", entry({"user": u}, nope=None), version=v)
        alter(ask, f"v{v} good and bad", entry({"user": u}, nope=1.0), entry({"group": u}, nope=1.0), version=v)
        for address in ("::1", "10.0.0.300", "localhost", "10.0.0.0/8", "2001:db8::1"):
            alter(
                ask,
                f"v{v} {address}",
                entry({"ip": address}, connection_creation_rate=5.0),
                version=v,
                validate_only=True,
            )
    describe(ask, "nothing came of it", ("user", EXACT, u))


@scenario("KIP-546 ClientQuotaControlManager.alterClientQuotas KRaftMetadataCache.describeClientQuotas")
def client_quotas(ask: ScenarioBuilder) -> None:
    """AlterClientQuotas sets and removes quotas of users, client ids and addresses, and DescribeClientQuotas finds them
    by exact, default and any match."""
    u, c = ask.let("u", "u<unique>"), ask.let("c", "c<unique>")
    made: list[Entity] = [
        {"user": u},
        {"user": u, "client-id": c},
        {"user": u, "client-id": None},
        {"user": None, "client-id": c},
        {"user": None, "client-id": None},
        {"client-id": c},
        {"client-id": None},
        {"user": None},
    ]
    for number, entity in enumerate(made):
        alter(ask, f"set {number}", entry(entity, producer_byte_rate=HUGE + number))
    alter(
        ask,
        "several",
        entry({"user": u}, consumer_byte_rate=HUGE, request_percentage=1e6, controller_mutation_rate=1e6),
    )
    alter(ask, "address", entry({"ip": "10.9.8.7"}, connection_creation_rate=1e6))
    alter(ask, "any address", entry({"ip": None}, connection_creation_rate=1e6))
    wait_for_quota(ask, "user", None, 1)
    ask.step("sleep", ms=500)
    for strict in (False, True):
        how = "strictly " if strict else ""
        for v in ask.versions("DescribeClientQuotas"):
            describe(ask, f"{how}v{v} user", ("user", EXACT, u), strict=strict, version=v)
        describe(ask, f"{how}the client", ("client-id", EXACT, c), strict=strict)
        describe(ask, f"{how}user and client", ("user", EXACT, u), ("client-id", EXACT, c), strict=strict)
        describe(ask, f"{how}user and any client", ("user", EXACT, u), ("client-id", ANY, None), strict=strict)
        describe(ask, f"{how}user and default client", ("user", EXACT, u), ("client-id", DEFAULT, None), strict=strict)
        describe(ask, f"{how}default user", ("user", DEFAULT, None), strict=strict)
        describe(
            ask, f"{how}default user, any client", ("user", DEFAULT, None), ("client-id", ANY, None), strict=strict
        )
        describe(ask, f"{how}any user, the client", ("user", ANY, None), ("client-id", EXACT, c), strict=strict)
        describe(ask, f"{how}any client", ("client-id", ANY, None), strict=strict)
        describe(ask, f"{how}address", ("ip", EXACT, "10.9.8.7"), strict=strict)
        describe(ask, f"{how}default address", ("ip", DEFAULT, None), strict=strict)
        describe(ask, f"{how}nobody", ("user", EXACT, "nobody"), strict=strict)
    for case, components in (
        ("an unknown type", [("group", EXACT, u)]),
        ("an empty type", [("", EXACT, u)]),
        ("a type twice", [("user", EXACT, u), ("user", ANY, None)]),
        ("an unknown match", [("user", 5, u)]),
        ("exact without a name", [("user", EXACT, None)]),
        ("default with a name", [("user", DEFAULT, u)]),
        ("any with a name", [("user", ANY, u)]),
        ("user and address", [("user", EXACT, u), ("ip", EXACT, "10.9.8.7")]),
        ("client and address", [("client-id", EXACT, c), ("ip", ANY, None)]),
    ):
        for v in ask.versions("DescribeClientQuotas"):
            describe(ask, f"v{v} {case}", *components, version=v)
    alter(ask, "only validated", entry({"user": u}, producer_byte_rate=5.0), validate_only=True)
    alter(ask, "one of several removed", entry({"user": u}, request_percentage=None, consumer_byte_rate=HUGE + 9))
    ask.step("sleep", ms=500)
    describe(ask, "one is gone", ("user", EXACT, u), strict=True)
    alter(ask, "set and removed at once", entry({"user": u}, producer_byte_rate=None, controller_mutation_rate=5e5))
    ask.step("sleep", ms=500)
    describe(ask, "set and removed", ("user", EXACT, u), strict=True)
    alter(ask, "rest removed", entry({"user": u}, consumer_byte_rate=None, controller_mutation_rate=None))
    for number, entity in enumerate(made[1:]):
        alter(ask, f"remove {number}", entry(entity, producer_byte_rate=None))
    alter(ask, "no address", entry({"ip": "10.9.8.7"}, connection_creation_rate=None))
    alter(ask, "no default address", entry({"ip": None}, connection_creation_rate=None))
    wait_for_quota(ask, "user", None, 0)
    ask.step("sleep", ms=500)
    describe(ask, "all", strict=False)
