"""`kafkalet.broker.apis.describe_user_scram_credentials`: responses without any credentials."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code

from .asking import asking

UNKNOWN = "Attempt to describe a user credential that does not exist: "
TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "


def described(*names: str, release: str = "newest", all_users: bool = False) -> list[Any]:
    with asking(kafka_version=release) as ask:
        users = None if all_users else [{"name": name} for name in names]
        answer = ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)
    assert (answer["error_code"], answer["error_message"]) == (0, None if release == "2.8" else "")
    assert all(result["credential_infos"] == [] for result in answer["results"])
    return [(result["user"], result["error_code"], result["error_message"]) for result in answer["results"]]


@pytest.mark.parametrize("all_users", [True, False])
def test_request_for_all_users_returns_an_empty_list(all_users: bool) -> None:
    assert described(all_users=all_users) == []


def test_request_for_a_user_returns_resource_not_found() -> None:
    assert described("a", "b") == [(name, Code.RESOURCE_NOT_FOUND, UNKNOWN + name) for name in "ab"]


def test_duplicate_user_is_refused_once() -> None:
    assert described("a", "a", "b") == [
        ("a", Code.DUPLICATE_RESOURCE, TWICE + "a"),
        ("b", Code.RESOURCE_NOT_FOUND, UNKNOWN + "b"),
    ]


@pytest.mark.parametrize(("release", "message"), [("2.8", "Username must not be empty"), ("3.9", UNKNOWN)])
def test_empty_user_name_is_refused(release: str, message: str) -> None:
    assert described("", release=release) == [("", Code.RESOURCE_NOT_FOUND, message)]
