"""`kafkalet.broker.apis.describe_user_scram_credentials`: the users with credentials, and errors of those without."""

from typing import Any

import pytest

from kafkalet.broker.security.acl import CLUSTER_NAME, Operation, ResourceType
from kafkalet.protocol.errors import Code

from .secured import SECURED, Users, secured

UNKNOWN = "Attempt to describe a user credential that does not exist: "
TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
RELEASES = ("2.8", "3.9", "4.4")


def stored(users: Users, *credentials: tuple[str, int, int]) -> None:
    for name, mechanism, iterations in credentials:
        entry = {"name": name, "mechanism": mechanism, "iterations": iterations, "salt": "s", "salted_password": "p"}
        answer = users("admin", "AlterUserScramCredentials", 0, deletions=[], upsertions=[entry])
        assert [result["error_code"] for result in answer["results"]] == [0]


def described(users: Users, *names: str, all_users: bool = False) -> list[Any]:
    asked = None if all_users else [{"name": name} for name in names]
    answer = users("admin", "DescribeUserScramCredentials", 0, users=asked)
    assert (answer["error_code"], answer["error_message"]) == (0, "")
    return [
        (result["user"], result["error_code"], result["error_message"])
        if result["error_code"]
        else (result["user"], [(info["mechanism"], info["iterations"]) for info in result["credential_infos"]])
        for result in answer["results"]
    ]


@pytest.mark.parametrize("all_users", [True, False])
@pytest.mark.parametrize("release", RELEASES)
def test_request_without_users_returns_all(all_users: bool, release: str) -> None:
    with secured(SECURED, version=release) as users:
        assert described(users, all_users=all_users) == []
        stored(users, ("a", 2, 8192), ("b", 1, 4096), ("a", 1, 4096))
        assert described(users, all_users=all_users) == [("a", [(1, 4096), (2, 8192)]), ("b", [(1, 4096)])]


def test_list_of_all_users_is_escaped_before_kafka_3() -> None:
    with secured(SECURED, version="2.8") as users:
        stored(users, ("ä b,c=*~.-_", 1, 4096))
        assert [name for name, _ in described(users)] == ["%C3%A4%20b%2Cc%3D%2A%7E.-_"]
        assert described(users, "ä b,c=*~.-_") == [("ä b,c=*~.-_", [(1, 4096)])]


def test_request_for_unknown_user_returns_resource_not_found() -> None:
    with secured(SECURED) as users:
        stored(users, ("b", 1, 4096))
        assert described(users, "a", "b") == [("a", Code.RESOURCE_NOT_FOUND, UNKNOWN + "a"), ("b", [(1, 4096)])]


def test_duplicate_user_is_refused_once() -> None:
    with secured(SECURED) as users:
        stored(users, ("a", 1, 4096))
        assert described(users, "a", "a", "b") == [
            ("a", Code.DUPLICATE_RESOURCE, TWICE + "a"),
            ("b", Code.RESOURCE_NOT_FOUND, UNKNOWN + "b"),
        ]


@pytest.mark.parametrize(("release", "message"), [("2.8", "Username must not be empty"), ("3.9", UNKNOWN)])
def test_empty_user_name_is_refused(release: str, message: str) -> None:
    with secured(SECURED, version=release) as users:
        assert described(users, "") == [("", Code.RESOURCE_NOT_FOUND, message)]


@pytest.mark.parametrize(("release", "count"), [("2.8", 0), ("3.9", 2), ("4.4", 2)])
def test_request_without_describe_on_cluster_is_refused(release: str, count: int) -> None:
    refused = {"error_code": Code.CLUSTER_AUTHORIZATION_FAILED, "error_message": None}
    with secured(SECURED, version=release) as users:
        answer = users("alice", "DescribeUserScramCredentials", 0, users=[{"name": "a"}, {"name": "b"}])
        assert answer == {
            "throttle_time_ms": 0,
            **refused,
            "results": [{"user": "", **refused, "credential_infos": []}] * count,
        }
        users.allow("alice", Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
        assert users("alice", "DescribeUserScramCredentials", 0, users=None)["error_code"] == 0
