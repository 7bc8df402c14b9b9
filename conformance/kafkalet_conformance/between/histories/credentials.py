"""Histories of quotas, SCRAM credentials and delegation tokens.

Their users and clients are used by no other histories.
"""

from kafkalet_conformance.building import Step

from .history import History

APPLIED_MS = 100
"""How long a change may take to reach the broker."""
QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "nope")


def quotas(h: History) -> None:
    """Change and describe the quotas of two users."""
    users = [h.let(f"U{n}", f"c<unique>.h.U{n}") for n in (1, 2)]
    for _ in range(h.dice.randint(4, 12)):
        h.weighted((2, lambda: alter_quotas(h, users)), (1, lambda: describe_quotas(h, users)))
    describe_quotas(h, users)


def entity(h: History, users: list[str]) -> list[Step]:
    entries = [{"entity_type": "user", "entity_name": h.dice.choice(users)}]
    if h.chance(0.3):
        entries.append({"entity_type": "client-id", "entity_name": h.of(None, "a", "b")})
    if h.chance(0.1):
        entries.append({"entity_type": h.of("ip", "group", "", "user"), "entity_name": h.of("1.2.3.4", "", None)})
    return entries


def alter_quotas(h: History, users: list[str]) -> None:
    entries = []
    for _ in range(h.of(1, 1, 2)):
        keys = h.dice.sample(QUOTAS, h.of(1, 1, 2))
        ops = [{"key": key, "value": h.of(1e15, 1e14, 0.0, -1.0, 0.5), "remove": h.chance(0.3)} for key in keys]
        entries.append({"entity": entity(h, users), "ops": ops})
    version = h.version("AlterClientQuotas")
    h.ask("AlterClientQuotas", version, {"entries": entries, "validate_only": h.chance(0.2)})
    h.step("sleep", ms=APPLIED_MS)
    h.reached("quotas")


def describe_quotas(h: History, users: list[str]) -> None:
    components: list[Step] = [{"entity_type": "user", "match_type": 0, "match": h.dice.choice(users)}]
    if h.chance(0.4):
        how = h.of(0, 1, 2, 7)
        components.append({"entity_type": "client-id", "match_type": how, "match": "a" if how == 0 else None})
    body = {"components": components, "strict": h.chance(0.5)}
    h.ask("DescribeClientQuotas", h.version("DescribeClientQuotas"), body)


def scram(h: History) -> None:
    """Store, remove and describe the credentials of two users."""
    users = [h.let(f"U{n}", f"c<unique>.h.U{n}") for n in (1, 2)]
    for _ in range(h.dice.randint(3, 8)):
        stored = [
            {"name": user(h, users), "mechanism": mechanism(h), "iterations": h.of(4096, 4096, 16384, 4095, 16385, 0)}
            | {"salt": h.of("salt", "salt", ""), "salted_password": h.of("a", "b", "")}
            for _ in range(h.of(0, 1, 1, 2))
        ]
        removed = [{"name": user(h, users), "mechanism": mechanism(h)} for _ in range(h.of(0, 0, 1))]
        version = h.version("AlterUserScramCredentials")
        h.ask("AlterUserScramCredentials", version, {"deletions": removed, "upsertions": stored})
        h.step("sleep", ms=APPLIED_MS)
        h.reached("SCRAM credentials")
        asked = [{"name": name} for name in h.of(users, users, users[:1], [*users, "nobody"], [*users, ""])]
        h.ask("DescribeUserScramCredentials", h.version("DescribeUserScramCredentials"), {"users": asked})


def user(h: History, users: list[str]) -> str:
    return h.dice.choice(users) if h.chance(0.95) else ""


def mechanism(h: History) -> int:
    chosen: int = h.of(1, 1, 2, 2, 0, 9)
    return chosen


def tokens(h: History) -> None:
    """Create, renew, expire and describe delegation tokens. Brokers without tokens refuse the requests."""
    renewer = h.let("r", "c<unique>.h.r")
    created = 0
    for _ in range(h.dice.randint(3, 10)):
        act = h.of("create", "create", "renew", "expire", "describe")
        secret = f"$H{h.dice.randint(1, created)}" if created and h.chance(0.9) else "nothing"
        if act == "create":
            created += 1
            number, version = created, h.version("CreateDelegationToken")
            renewers = h.of(
                [], [principal(renewer)], [principal(renewer), principal("user")], [principal("a", "Group")]
            )
            bind = {f"D{number}": "token_id", f"H{number}": "hmac", f"T{number}": "issue_timestamp_ms"}
            body = {"renewers": renewers, "max_lifetime_ms": h.of(-1, -1, 60_000, 0, -2, 10**15)}
            h.ask("CreateDelegationToken", version, body, bind=bind, conn="user")
        elif act == "renew":
            body = {"hmac": secret, "renew_period_ms": h.of(60_000, -1, 0, 10**15)}
            h.ask("RenewDelegationToken", h.version("RenewDelegationToken"), body, conn="user")
        elif act == "expire":
            body = {"hmac": secret, "expiry_time_period_ms": h.of(60_000, -1, 0)}
            h.ask("ExpireDelegationToken", h.version("ExpireDelegationToken"), body, conn="user")
        else:
            body = {"owners": h.of([], [principal(renewer)])}
            h.ask("DescribeDelegationToken", h.version("DescribeDelegationToken"), body, conn="user")
        h.step("sleep", ms=APPLIED_MS)
        h.reached("delegation tokens")


def principal(name: str, kind: str = "User") -> Step:
    return {"principal_type": kind, "principal_name": name}
