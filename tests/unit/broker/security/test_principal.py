"""Principals and their text form."""

import pytest

from kafkalet.broker.security.principal import Principal, parse_principal, parse_super_users, user


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("User:alice", user("alice")),
        ("User:CN=a,OU=b:c", user("CN=a,OU=b:c")),
        ("Group:", Principal("Group", "")),
        (":alice", Principal("", "alice")),
    ],
)
def test_principal_has_a_type_and_a_name(text: str, principal: Principal) -> None:
    assert parse_principal(text) == principal
    assert str(principal) == text


@pytest.mark.parametrize("text", ["alice", ""])
def test_principal_without_colon_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a string in format principalType:principalName but got"):
        parse_principal(text)


def test_super_users_are_separated_by_semicolons() -> None:
    assert parse_super_users(" User:a ;; User:CN=b,O=c;") == [user("a"), user("CN=b,O=c")]
