"""The options of `serve` and `exec` for users, super users, ACLs and TLS.

A password in an option is visible in the list of processes. Alternatively, it can be in a file, or in an environment
variable that is named after the user: KAFKALET_PASSWORD_ALICE.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .command_line import Option, UsageError

if TYPE_CHECKING:
    from kafkalet.broker.security.acl import Acl
    from kafkalet.broker.security.short_forms import ShortForms

VARIABLE = "KAFKALET_PASSWORD_"

SECURITY_OPTIONS = (
    Option("--tls", "", "create certificates for tests; listeners without a protocol use TLS"),
    Option("--user", "NAME[:PASSWORD]", f"user who can log in (password from ${VARIABLE}NAME); repeatable", True),
    Option("--user-file", "FILE", "read users from a file with lines NAME:PASSWORD; repeatable", True),
    Option("--super-user", "NAME[:PASSWORD]", "user who may do everything; others need ACLs; repeatable", True),
    Option(
        "--acl",
        "ACL",
        "allow or deny operations of a user: [deny:]USER:OPERATION[,OPERATION]...:TYPE:NAME[*][ from ADDRESS], "
        "as in alice:read,describe:topic:orders*; TYPE is topic, group, cluster (without NAME), "
        "transactional-id, user or delegation-token; * stands for every USER or NAME; repeatable",
        True,
    ),
)


def short_forms(given: Mapping[str, list[str]], environment: Mapping[str, str] = os.environ) -> "ShortForms | None":
    """Return the settings that the options describe, or None if none of them is given. Raises UsageError."""
    if not any(option.name.lstrip("-") in given for option in SECURITY_OPTIONS):
        return None
    from kafkalet.broker.security.short_forms import ShortForms, checked_acls

    users = _from_files(given.get("user-file", []))
    for text in given.get("user", []):
        name, password = _user("--user", text, environment)
        if name in users:
            raise UsageError(f"--user {name}: the user is given twice; name each user once")
        if password is None:
            variable = variable_of(name)
            raise UsageError(
                f"--user {name}: the password is missing; expected {name}:PASSWORD, or the password in ${variable} "
                "or --user-file"
            )
        users[name] = password
    super_users = []
    for text in given.get("super-user", []):
        name, password = _user("--super-user", text, environment)
        super_users.append(name)
        if password is not None:
            if users.get(name, password) != password:
                raise UsageError(f"--super-user {name}: the user is given twice, with different passwords")
            users[name] = password
    acls: list[Acl] = []
    for text in given.get("acl", []):
        try:
            acls += checked_acls([text])
        except ValueError as error:
            raise UsageError(f"--acl: {error}") from error
    try:
        return ShortForms.of(users, super_users, acls, tls="tls" in given)
    except ValueError as error:
        raise UsageError(error) from error


def _user(option: str, text: str, environment: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the name and the password, which may be in the environment."""
    if text.startswith("User:"):  # a principal, whose name may contain colons
        if option == "--user":
            raise UsageError(f"{option}: give the name of the user without User:, as in alice:secret")
        return text, None
    name, colon, password = text.partition(":")
    if not name:
        raise UsageError(f"{option}: the name of the user is empty; expected NAME:PASSWORD, as in alice:secret")
    return name, password if colon else environment.get(variable_of(name))


def variable_of(name: str) -> str:
    """Return the name of the environment variable with the password of a user."""
    return VARIABLE + "".join(char if char.isascii() and char.isalnum() else "_" for char in name).upper()


def _from_files(paths: Sequence[str]) -> dict[str, str]:
    """Return the users in files. Empty lines and lines that begin with # are ignored."""
    users = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, ValueError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is not UTF-8"
            raise UsageError(f"--user-file {path}: {reason}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, colon, password = line.partition(":")
            if not colon or not name or not password:
                raise UsageError(f"--user-file {path}: line {number} is not NAME:PASSWORD")
            users[name] = password
    return users
