"""SCRAM credentials of users (KIP-554)."""

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios

scenario = Scenarios("credentials", EVERY_RELEASE, AlterUserScramCredentials=0)

ALTER, SEE = "AlterUserScramCredentials", "DescribeUserScramCredentials"
SHA_256, SHA_512 = 1, 2


def put(user: str, mechanism: int = SHA_256, iterations: int = 4096, password: str = "salted password") -> Step:  # noqa: S107
    entry = {"name": user, "mechanism": mechanism, "iterations": iterations}
    return entry | {"salt": "salt", "salted_password": password}


def drop(user: str, mechanism: int = SHA_256) -> Step:
    return {"name": user, "mechanism": mechanism}


def alter(ask: ScenarioBuilder, case: str, *entries: Step, users: tuple[str, ...]) -> None:
    """Change credentials, and describe the users."""
    body = {
        "deletions": [entry for entry in entries if "salt" not in entry],
        "upsertions": [entry for entry in entries if "salt" in entry],
    }
    ask.request(case, ALTER, 0, body)
    ask.step("sleep", ms=100)
    ask.request(f"{case}: described", SEE, 0, {"users": [{"name": user} for user in users]})


@scenario("KIP-554 ScramControlManager ZkAdminManager")
def scram_credentials_of_mechanisms(ask: ScenarioBuilder) -> None:
    """AlterUserScramCredentials stores, replaces and removes credentials of both mechanisms."""
    a, b = users = ask.unique("a"), ask.unique("b")
    alter(ask, "store two", put(a), put(b, SHA_512, 16384), users=users)
    alter(ask, "store the other mechanism", put(a, SHA_512, 5000), users=users)
    alter(ask, "replace one", put(a, SHA_256, 6000), users=users)
    alter(ask, "remove the other mechanism of one, and one of another", drop(a), drop(b, SHA_512), users=users)
    alter(ask, "remove what is left", drop(a, SHA_512), users=users)


@scenario("KIP-554 ScramControlManager ZkAdminManager")
def scram_credentials_twice(ask: ScenarioBuilder) -> None:
    """AlterUserScramCredentials in KRaft mode refuses a user that is named twice; with ZooKeeper, it refuses only a
    user with the same mechanism twice.
    """
    a, b = users = ask.unique("a"), ask.unique("b")
    alter(ask, "both mechanisms", put(a), put(a, SHA_512), put(b), users=users)
    alter(ask, "one", put(a), users=users)
    alter(ask, "remove one three times", drop(a), drop(a), drop(a), users=users)
    alter(ask, "replace one by itself", drop(a), put(a, SHA_256, 5000), users=users)
    alter(ask, "replace one by the other mechanism", drop(a), put(a, SHA_512), users=users)
    alter(ask, "remove one and another", drop(a), drop(a, SHA_512), users=users)
    alter(ask, "remove one that does not exist and store it", drop(a, SHA_512), put(a, SHA_512), users=users)


@scenario("KIP-554 ScramControlManager ZkAdminManager")
def scram_credentials_refused(ask: ScenarioBuilder) -> None:
    """AlterUserScramCredentials returns one error for each user."""
    a, b = users = ask.unique("a"), ask.unique("b")
    alter(ask, "unknown mechanism and too few iterations", put(a, 9), put(a, SHA_256, 1), put(b), users=users)
    alter(ask, "too many iterations and unknown mechanism", put(a, SHA_256, 20000), put(a, 9), users=users)
    alter(ask, "unknown mechanism to remove, and one to store", drop(b, 7), put(b), users=users)
    alter(ask, "unknown mechanism without name", put("", 7, 1), drop("", 7), users=users)
    alter(ask, "unknown one to remove and a bad one to store", drop(a), put(a, SHA_256, 1), users=users)
    alter(ask, "one bad user among others", put(a, SHA_256, 1), put(b, SHA_512), users=users)
    alter(ask, "empty salted password", put(a, password=""), users=users)
    alter(ask, "removed", drop(b), users=users)
