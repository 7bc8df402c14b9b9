"""Delegation tokens: who may create, renew, expire and see them, and when they expire (KIP-48, KIP-373).

The user of these scenarios has no rights; tokens do not need any. Each scenario has its own renewer, by which it finds
its tokens, because the user also has tokens of other scenarios.
"""

from typing import Any

from kafkalet_conformance.access import DESCRIBE, PROPAGATION_MS
from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import Rights

scenario = Scenarios("credentials", acl=True, tokens=True)

CREATE, RENEW, EXPIRE = "CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"
SEE = "DescribeDelegationToken"
DELEGATION_TOKENS, USERS = 6, 7
DESCRIBE_TOKENS, CREATE_TOKENS = 14, 13
LONGEST_MS = (1 << 63) - 1
MINUTE_MS = 60_000


def principal(name: str, kind: str = "User") -> Step:
    return {"principal_type": kind, "principal_name": name}


def owner(name: str | None, kind: str | None = "User") -> Step:
    return {"owner_principal_type": kind, "owner_principal_name": name}


def wanted(*renewers: str, max_lifetime_ms: int = -1) -> Step:
    """Return the body of a request for a token."""
    return {"renewers": [principal(name) for name in renewers], "max_lifetime_ms": max_lifetime_ms}


def newest(ask: ScenarioBuilder, api: str) -> int:
    return ask.versions(api)[-1]


def own_renewer(ask: ScenarioBuilder) -> str:
    """Bind the name of a user that renews only tokens of this scenario."""
    return ask.unique("r")


class Token:
    """A token that a scenario has created: `$D1` is its id, `$H1` its secret, `$T1` the time of its creation."""

    def __init__(self, ask: ScenarioBuilder, number: int, body: Step, case: str = "", **more: Any) -> None:
        self.ask, self.secret = ask, f"$H{number}"
        bind = {f"D{number}": "token_id", f"H{number}": "hmac", f"T{number}": "issue_timestamp_ms"}
        version = newest(ask, CREATE)
        if case:
            ask.request(case, CREATE, version, body, bind=bind, **{"conn": "user"} | more)
        else:
            ask.setup(CREATE, version, body, bind=bind, **{"conn": "user"} | more)
        self.settle()

    def settle(self) -> None:
        """Wait until the brokers know the token or its new time."""
        self.ask.until(SEE, 1, {"owners": None}, "error_code", 0)
        self.ask.step("sleep", ms=10 * PROPAGATION_MS)

    def renew(self, case: str, period_ms: int, conn: str = "user", **more: Any) -> None:
        body = {"hmac": self.secret, "renew_period_ms": period_ms}
        self.ask.request(case, RENEW, newest(self.ask, RENEW), body, conn=conn, **more)
        self.settle()

    def expire(self, case: str, period_ms: int, conn: str = "user", **more: Any) -> None:
        body = {"hmac": self.secret, "expiry_time_period_ms": period_ms}
        self.ask.request(case, EXPIRE, newest(self.ask, EXPIRE), body, conn=conn, **more)
        self.settle()


def see(ask: ScenarioBuilder, case: str, owners: list[Step] | None, conn: str = "user", version: int = -1) -> None:
    """Describe the tokens of these owners or renewers."""
    version = newest(ask, SEE) if version < 0 else version
    ask.request(case, SEE, version, {"owners": owners}, conn=conn)


@scenario("KIP-48 DelegationTokenControlManager DelegationTokenManagerConfigs", EVERY_RELEASE)
def tokens_created(ask: ScenarioBuilder) -> None:
    """CreateDelegationToken returns the secret of a token, and limits its lifetime to that of the cluster."""
    number = 0

    def create(case: str, body: Step, version: int) -> None:
        nonlocal number
        number += 1
        ask.request(case, CREATE, version, body, conn="user", bind={f"T{number}": "issue_timestamp_ms"})

    for v in ask.versions(CREATE):
        create(f"v{v}: without renewers", wanted(), v)
        create(f"v{v}: with renewers", wanted("a", "admin", "a"), v)
    for lifetime_ms in (0, -2, MINUTE_MS, 20 * MINUTE_MS, 2 * 24 * 60 * MINUTE_MS, 8 * 24 * 60 * MINUTE_MS, LONGEST_MS):
        create(f"lifetime {lifetime_ms}", wanted(max_lifetime_ms=lifetime_ms), newest(ask, CREATE))


@scenario("KIP-48 KIP-373 KafkaApis.handleCreateTokenRequest", EVERY_RELEASE)
def tokens_refused(ask: ScenarioBuilder) -> None:
    """CreateDelegationToken returns INVALID_PRINCIPAL_TYPE for renewers that are not users, and
    DELEGATION_TOKEN_AUTHORIZATION_FAILED for other owners if the requester has no CREATE_TOKENS right."""
    other = ask.unique("o")
    for v in ask.versions(CREATE):
        body: Step = {"renewers": [principal("a"), principal("g", "Group")], "max_lifetime_ms": -1}
        ask.request(f"v{v}: a group as renewer", CREATE, v, body, conn="user")
        ask.request(f"v{v}: without log-in", CREATE, v, wanted(), conn="anonymous")
    for v in ask.versions(CREATE, 3):
        group: Step = {"renewers": [principal("g", "Group")], "max_lifetime_ms": -1}
        for case, body in {
            "another owner": wanted() | owner(other),
            "another owner and a group as renewer": group | owner(other),
            "own name with another type": wanted() | owner("user", "Role"),
        }.items():
            ask.request(f"v{v}: {case}", CREATE, v, body, conn="user")
        ask.request(f"v{v}: owner without type", CREATE, v, wanted() | owner(other, None))
        for at, (case, body) in enumerate(
            {
                "null owner": wanted() | owner(None, None),
                "only the type of an owner": wanted() | owner("", "Group"),
                "itself as owner": wanted() | owner("user"),
            }.items()
        ):
            ask.request(f"v{v}: {case}", CREATE, v, body, conn="user", bind={f"T{at}": "issue_timestamp_ms"})
        for at, kind in enumerate(("User", "Group", ""), 3):
            body = wanted() | owner(other, kind)
            ask.request(f"v{v}: super user for {kind!r}", CREATE, v, body, bind={f"T{at}": "issue_timestamp_ms"})
        rights = Rights(ask)
        rights.grant(USERS, ask.let("uo", f"User:c<unique>.{ask.name}.o"), CREATE_TOKENS)
        body = wanted() | owner(other)
        ask.request(f"v{v}: with CREATE_TOKENS", CREATE, v, body, conn="user", bind={"T9": "issue_timestamp_ms"})
        rights.remove()


@scenario("KIP-48 DelegationTokenManager.filterToken", EVERY_RELEASE)
def tokens_described(ask: ScenarioBuilder) -> None:
    """DescribeDelegationToken returns the tokens of the owners and renewers that the request names."""
    renewer = own_renewer(ask)
    Token(ask, 1, wanted(renewer, "admin", renewer), "create")
    for v in ask.versions(SEE):
        see(ask, f"v{v}: by the renewer", [principal(renewer)], version=v)
        see(ask, f"v{v}: no owners", [], version=v)
    see(ask, "by the renewer, twice", [principal(renewer), principal(renewer)])
    see(ask, "by the renewer and an unknown user", [principal("nobody"), principal(renewer)])
    see(ask, "by the renewer with another type", [principal(renewer, "Group")])
    see(ask, "by the renewer, as super user", [principal(renewer)], conn="main")
    see(ask, "unknown user", [principal("nobody")])
    see(ask, "without log-in", None, conn="anonymous")


@scenario("KIP-48 KIP-373 DelegationTokenManager.filterToken")
def tokens_of_others_described(ask: ScenarioBuilder) -> None:
    """For tokens of other users, DescribeDelegationToken needs DESCRIBE on the token or DESCRIBE_TOKENS on the
    owner."""
    other = ask.unique("o")
    Token(ask, 1, wanted() | owner(other), "create for another user", conn="main")
    see(ask, "without rights", [principal(other)])
    see(ask, "as super user", [principal(other)], conn="main")
    rights = Rights(ask)
    rights.grant(DELEGATION_TOKENS, "$D1", DESCRIBE)
    see(ask, "with DESCRIBE on the token", [principal(other)])
    rights.remove()
    rights.grant(USERS, ask.let("uo", f"User:c<unique>.{ask.name}.o"), DESCRIBE_TOKENS)
    see(ask, "with DESCRIBE_TOKENS on the owner", [principal(other)])
    rights.remove()
    see(ask, "without rights again", [principal(other)])


@scenario("KIP-48 DelegationTokenControlManager", EVERY_RELEASE)
def tokens_renewed(ask: ScenarioBuilder) -> None:
    """RenewDelegationToken limits the period to that of the cluster, and the end to the maximum of the token."""
    renewer = own_renewer(ask)
    token = Token(ask, 1, wanted(renewer, "admin", max_lifetime_ms=20 * MINUTE_MS))
    token.renew("for a minute", MINUTE_MS, bind={"T2": "expiry_timestamp_ms"})
    see(ask, "described", [principal(renewer)])
    token.renew("for an hour", 60 * MINUTE_MS)
    token.renew("for the time of the cluster", -1)
    token.renew("for the longest time as renewer", 24 * 60 * MINUTE_MS, conn="main")
    see(ask, "described at its maximum", [principal(renewer)])
    for v in ask.versions(RENEW):
        for case, hmac in {"no bytes": "", "unknown bytes": "x", "64 unknown bytes": {"hex": "00" * 64}}.items():
            ask.request(f"v{v}: {case}", RENEW, v, {"hmac": hmac, "renew_period_ms": -1}, conn="user")
    stranger = Token(ask, 3, wanted(renewer))
    stranger.renew("as neither owner nor renewer", MINUTE_MS, conn="main")
    stranger.renew("without log-in", MINUTE_MS, conn="anonymous")
    long = Token(ask, 4, wanted(renewer))
    long.renew("for two days", 48 * 60 * MINUTE_MS, bind={"T5": "expiry_timestamp_ms"})
    stranger.renew("for one millisecond", 1)
    stranger.renew("after it expired", MINUTE_MS)
    stranger.renew("after it expired, as neither owner nor renewer", MINUTE_MS, conn="main")
    if ask.release == "2.8":
        long.renew("for no time", 0)
        long.renew("after no time", MINUTE_MS)


@scenario("KIP-48 DelegationTokenControlManager", EVERY_RELEASE)
def tokens_expired(ask: ScenarioBuilder) -> None:
    """ExpireDelegationToken changes the end of a token, and removes it if the period is negative."""
    renewer = own_renewer(ask)
    token = Token(ask, 1, wanted(renewer, "admin", max_lifetime_ms=20 * MINUTE_MS))
    token.expire("after a minute", MINUTE_MS, bind={"T2": "expiry_timestamp_ms"})
    see(ask, "described", [principal(renewer)])
    token.expire("after an hour", 60 * MINUTE_MS, conn="main")
    for v in ask.versions(EXPIRE):
        for case, hmac in {"no bytes": "", "unknown bytes": "x", "64 unknown bytes": {"hex": "00" * 64}}.items():
            ask.request(f"v{v}: {case}", EXPIRE, v, {"hmac": hmac, "expiry_time_period_ms": -1}, conn="user")
    stranger = Token(ask, 3, wanted(renewer))
    stranger.expire("as neither owner nor renewer", -1, conn="main")
    stranger.expire("without log-in", -1, conn="anonymous")
    stranger.expire("now", 0)
    stranger.expire("after it expired", MINUTE_MS)
    stranger.renew("renewed after it expired", MINUTE_MS)
    if ask.release == "2.8":
        stranger.expire("removed after it expired", -1)
    else:
        stranger.expire("removed after it expired", -1, conn="user.again")
        stranger.expire("removed again", -1)
    token.expire("removed", -1, conn="main")
    token.renew("renewed after its removal", MINUTE_MS)
    see(ask, "described after its removal", [principal("nobody"), principal("$r", "Group")])
    longest = Token(ask, 4, wanted(renewer))
    wrapped: Step = {} if ask.release >= "4" else {"bind": {"T5": "expiry_timestamp_ms"}}
    longest.expire("after the longest time", LONGEST_MS, **wrapped)
