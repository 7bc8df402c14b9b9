"""Tests of the options for users, super users, ACLs and TLS."""

from pathlib import Path

import pytest

from kafkalet.broker.security.acl_text import EXAMPLES, GRAMMAR
from kafkalet.broker.security.short_forms import ShortForms
from kafkalet.commands.command_line import UsageError, parse
from kafkalet.commands.security_options import SECURITY_OPTIONS, short_forms, variable_of


def given(*arguments: str, **environment: str) -> ShortForms:
    found = short_forms(parse(arguments, SECURITY_OPTIONS), environment)
    assert found is not None
    return found


def refusal(*arguments: str) -> str:
    with pytest.raises(UsageError) as refused:
        given(*arguments)
    return str(refused.value)


def test_without_options_there_are_no_short_forms() -> None:
    assert short_forms({}, {}) is None


def test_user_has_the_password_after_the_first_colon() -> None:
    assert given("--user", "alice:a:b", "--user", "bob:c").users == {"alice": "a:b", "bob": "c"}


def test_password_is_read_from_the_environment() -> None:
    assert given("--user", "al.ice", KAFKALET_PASSWORD_AL_ICE="secret").users == {"al.ice": "secret"}


def test_users_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("# users of the shop\nalice:a:b\n\nbob:c\n")
    assert given("--user-file", str(path)).users == {"alice": "a:b", "bob": "c"}


def test_super_user_with_a_password_can_log_in() -> None:
    found = given("--super-user", "admin:secret")
    assert (dict(found.users), found.super_users) == ({"admin": "secret"}, ("User:admin",))


def test_super_user_without_a_password_is_a_principal() -> None:
    found = given("--super-user", "User:CN=admin", "--super-user", "root")
    assert (dict(found.users), found.super_users) == ({}, ("User:CN=admin", "User:root"))


def test_user_may_be_a_super_user_as_well() -> None:
    assert given("--user", "admin:x", "--super-user", "admin").users == {"admin": "x"}


def test_acls_of_all_options_apply() -> None:
    assert len(given("--acl", "alice:read,write:topic:t", "--acl", "bob:read:group:g").acls) == 3


def test_tls_is_a_flag() -> None:
    assert given("--tls").tls


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "alice"], "$KAFKALET_PASSWORD_ALICE or --user-file"),
        (["--user", "alice:"], "the password of alice is empty"),
        (["--user", ":secret"], "the name of the user is empty"),
        (["--user", "User:alice:x"], "without User:"),
        (["--user", "a:1", "--user", "a:2"], "given twice"),
        (["--user", "a:1", "--super-user", "a:2"], "different passwords"),
        (["--super-user", ""], "the name of the user is empty"),
        (["--acl", "alice:read"], "Expected [deny:]USER"),
        (["--user-file", "/does/not/exist"], "No such file"),
    ],
)
def test_invalid_option_is_refused(arguments: list[str], message: str) -> None:
    assert message in refusal(*arguments)


@pytest.mark.parametrize("line", ["alice", "alice:", ":secret"])
def test_line_of_a_user_file_without_name_and_password_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"bob:c\n{line}\n")
    message = refusal("--user-file", str(path))
    assert "line 2 is not NAME:PASSWORD" in message
    assert "secret" not in message


def test_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_bytes(b"\xff\xfe")
    assert "it is not UTF-8" in refusal("--user-file", str(path))


@pytest.mark.parametrize(
    "arguments", [["--user", "a:s3cret", "--user", "a:s3cret"], ["--user", "*:s3cret"], ["--user", ":s3cret"]]
)
def test_message_has_no_password(arguments: list[str]) -> None:
    assert "s3cret" not in refusal(*arguments)


def test_help_has_the_grammar_of_acls() -> None:
    [option] = [option for option in SECURITY_OPTIONS if option.name == "--acl"]
    assert GRAMMAR in option.help
    assert EXAMPLES[0] in option.help


def test_variable_is_named_after_the_user() -> None:
    assert variable_of("a.b-c") == "KAFKALET_PASSWORD_A_B_C"
