"""`kafkalet.broker.apis.describe_user_scram_credentials`: nobody has any, as 2.8, 3.9 and 4.4 say it."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code

from .asking import asking

UNKNOWN = "Attempt to describe a user credential that does not exist: "
TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "


def described(*names: str, release: str = "newest", everybody: bool = False) -> list[Any]:
    with asking(kafka_version=release) as ask:
        users = None if everybody else [{"name": name} for name in names]
        answer = ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)
    assert (answer["error_code"], answer["error_message"]) == (0, None)
    assert all(result["credential_infos"] == [] for result in answer["results"])
    return [(result["user"], result["error_code"], result["error_message"]) for result in answer["results"]]


@pytest.mark.parametrize("everybody", [True, False])
def test_of_everybody_nothing_is_told(everybody: bool) -> None:
    assert described(everybody=everybody) == []


def test_who_is_named_is_unknown() -> None:
    assert described("a", "b") == [(name, Code.RESOURCE_NOT_FOUND, UNKNOWN + name) for name in "ab"]


def test_who_is_named_twice_is_refused_once() -> None:
    assert described("a", "a", "b") == [
        ("a", Code.DUPLICATE_RESOURCE, TWICE + "a"),
        ("b", Code.RESOURCE_NOT_FOUND, UNKNOWN + "b"),
    ]


@pytest.mark.parametrize(("release", "message"), [("2.8", "Username must not be empty"), ("3.9", UNKNOWN)])
def test_an_empty_name(release: str, message: str) -> None:
    assert described("", release=release) == [("", Code.RESOURCE_NOT_FOUND, message)]
