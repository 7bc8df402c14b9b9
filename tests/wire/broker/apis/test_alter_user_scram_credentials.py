"""`kafkalet.broker.apis.alter_user_scram_credentials`: stored and refused credentials, restarts and snapshots."""

import logging
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.security.acl import CLUSTER_NAME, Operation, ResourceType
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_salted
from kafkalet.protocol.errors import Code

from .secured import SECURED, Users, secured, users_of

RELEASES = ("2.8", "3.9", "4.4")
SALT, PASSWORD = "grains of salt", "a salted password"
TWICE = (Code.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
UNSUPPORTED = (Code.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
UNKNOWN = (Code.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
TOO_FEW = (Code.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
UNKNOWN_MECHANISM = (Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
NO_NAME = (Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")


def put(name: str, mechanism: int = 1, iterations: int = 4096, password: str = PASSWORD) -> dict[str, Any]:
    entry = {"name": name, "mechanism": mechanism, "iterations": iterations}
    return entry | {"salt": SALT, "salted_password": password}


def drop(name: str, mechanism: int = 1) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism}


def altered(users: Users, *entries: dict[str, Any], user: str = "admin") -> dict[str, Any]:
    """Send entries of `put` and `drop`, and return the error code and message of each user."""
    deletions = [entry for entry in entries if "salt" not in entry]
    upsertions = [entry for entry in entries if "salt" in entry]
    answer = users(user, "AlterUserScramCredentials", 0, deletions=deletions, upsertions=upsertions)
    names = [result["user"] for result in answer["results"]]
    assert len(names) == len(set(names))
    return {result["user"]: (result["error_code"], result["error_message"]) for result in answer["results"]}


def stored(users: Users) -> set[tuple[str, int, int]]:
    known = users.cluster._server.metadata.scram_credentials
    return {(name, int(mechanism), credential.iterations) for (name, mechanism), credential in known.items()}


@pytest.mark.parametrize(("release", "message"), [("2.8", ""), ("3.9", None), ("4.4", None)])
def test_credentials_are_stored_replaced_and_removed(release: str, message: str | None) -> None:
    done = (0, message)
    with secured(SECURED, version=release) as users:
        assert altered(users, put("a"), put("b", 2, 16384)) == {"a": done, "b": done}
        assert altered(users, put("a", 1, 5000)) == {"a": done}
        assert stored(users) == {("a", 1, 5000), ("b", 2, 16384)}
        assert altered(users, drop("a"), put("c")) == {"a": done, "c": done}
        assert stored(users) == {("b", 2, 16384), ("c", 1, 4096)}


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_stored_credential_is_derived_from_salted_password(mechanism: ScramMechanism) -> None:
    with secured(SECURED) as users:
        altered(users, put("a", mechanism, 5000))
        found = users.cluster._server.metadata.scram_credentials["a", mechanism]
    assert found == credential_of_salted(mechanism, PASSWORD.encode(), SALT.encode(), 5000)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (put("a", iterations=4095), TOO_FEW),
        (put("a", iterations=-1), TOO_FEW),
        (put("a", iterations=16385), (Code.UNACCEPTABLE_CREDENTIAL, "Too many iterations")),
        (put("a", 0), UNKNOWN_MECHANISM),
        (put("a", 3, 1), UNKNOWN_MECHANISM),
        (drop("a", -1), UNKNOWN_MECHANISM),
        (put("", 9), NO_NAME),
        (drop("", 9), NO_NAME),
        (drop("a"), UNKNOWN),
        (drop("b", 2), UNKNOWN),
    ],
)
def test_unacceptable_entry_is_refused_without_harm_to_others(
    release: str, entry: dict[str, Any], error: tuple[int, str]
) -> None:
    with secured(SECURED, version=release) as users:
        altered(users, put("b"))
        assert altered(users, put("c"), entry)[entry["name"]] == error
        assert stored(users) == {("b", 1, 4096), ("c", 1, 4096)}


@pytest.mark.parametrize("release", RELEASES)
def test_same_credential_twice_is_refused(release: str) -> None:
    with secured(SECURED, version=release) as users:
        altered(users, put("a"))
        assert altered(users, put("a"), put("a")) == {"a": TWICE}
        assert altered(users, drop("a"), drop("a"), drop("a")) == {"a": TWICE}
        assert altered(users, drop("a"), put("a", 1, 5000)) == {"a": TWICE}
        assert stored(users) == {("a", 1, 4096)}


def test_both_mechanisms_of_a_user_are_refused() -> None:
    with secured(SECURED) as users:
        assert altered(users, put("a"), put("a", 2)) == {"a": TWICE}
        altered(users, put("a", 2))
        assert altered(users, put("a"), drop("a", 2)) == {"a": TWICE}


def test_both_mechanisms_of_a_user_are_altered_with_zookeeper() -> None:
    with secured(SECURED, version="2.8") as users:
        assert altered(users, put("a"), put("a", 2)) == {"a": (0, "")}
        assert altered(users, drop("a", 2), put("a", 1, 5000)) == {"a": (0, "")}
        assert stored(users) == {("a", 1, 5000)}


@pytest.mark.parametrize(("release", "error"), [("2.8", TOO_FEW), ("4.4", UNKNOWN_MECHANISM)])
def test_error_for_several_entries_depends_on_the_release(release: str, error: tuple[int, str]) -> None:
    with secured(SECURED, version=release) as users:
        assert altered(users, put("a", 9), put("a", 1, 1)) == {"a": error}


def test_empty_salted_password_is_a_server_error() -> None:
    with secured(SECURED) as users:
        assert altered(users, put("a", password=""), put("b")) == {
            "a": (Code.UNKNOWN_SERVER_ERROR, None),
            "b": (0, None),
        }


def test_empty_salted_password_fails_all_users_with_zookeeper() -> None:
    text = "The server experienced an unexpected error when processing the request."
    with secured(SECURED, version="2.8") as users:
        failed = (Code.UNKNOWN_SERVER_ERROR, text)
        assert altered(users, put("a", password=""), put("b")) == {"a": failed, "b": failed}
        assert stored(users) == set()


@pytest.mark.parametrize(("release", "message"), [("2.8", None), ("4.4", "Request is not authorized.")])
def test_request_without_alter_on_cluster_is_refused(release: str, message: str | None) -> None:
    with secured(SECURED, version=release) as users:
        refused = (Code.CLUSTER_AUTHORIZATION_FAILED, message)
        answer = altered(users, put("b"), drop("c"), put("a"), put("b"), user="alice")
        assert list(answer.items()) == [("a", refused), ("b", refused), ("c", refused)]
        users.allow("alice", Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
        assert altered(users, put("a"), user="alice")["a"][0] == 0


def test_credentials_survive_restart(tmp_path: Path) -> None:
    with secured(SECURED, data_dir=str(tmp_path)) as users:
        altered(users, put("a"), put("b", 2))
        before = users.cluster._server.metadata.scram_credentials
    with secured(SECURED, data_dir=str(tmp_path)) as users:
        assert users.cluster._server.metadata.scram_credentials == before
        altered(users, drop("a"))
    with secured(SECURED, data_dir=str(tmp_path)) as users:
        assert stored(users) == {("b", 2, 4096)}


def test_credentials_are_in_snapshots_and_gone_after_reset() -> None:
    with kafkalet.Cluster(1, config=SECURED) as cluster, users_of(cluster) as users:
        altered(users, put("a"))
        snapshot = cluster.snapshot()
        cluster.reset()
        assert stored(users) == set()
        cluster.restore(snapshot)
        assert stored(users) == {("a", 1, 4096)}


def test_credentials_are_kept_if_they_cannot_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with secured(SECURED, data_dir=str(tmp_path)) as users:
        altered(users, put("a"))
        monkeypatch.setattr(users.cluster._server.controller._metadata_store, "save", fail)
        assert altered(users, drop("a"), put("b"))["a"][0] == Code.KAFKA_STORAGE_ERROR
        assert stored(users) == {("a", 1, 4096)}
        monkeypatch.undo()


def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with secured(SECURED) as users:
        altered(users, put("a"), put("", 9), put("b", 1, 1))
        [credential] = users.cluster._server.metadata.scram_credentials.values()
    assert repr(credential) == "ScramCredential(iterations=4096)"
    assert PASSWORD not in caplog.text
    assert SALT not in caplog.text


@pytest.mark.parametrize(("level", "error"), [(10, UNSUPPORTED), (11, (0, None))])
def test_credentials_need_metadata_version_11(level: int, error: tuple[int, str | None]) -> None:
    with secured(SECURED, version="4.4", features={"metadata.version": level}) as users:
        assert altered(users, put("a")) == {"a": error}
