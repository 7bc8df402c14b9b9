"""Principals: the users for whom clients send requests.

Source: org.apache.kafka.common.security.auth.KafkaPrincipal, SecurityUtils.parseKafkaPrincipal.
"""

from typing import NamedTuple

USER = "User"
"""The type of the principals that authentication determines."""


class Principal(NamedTuple):
    """A user, or another kind of client. In ACLs and quotas it is written as `User:alice`."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


def user(name: str) -> Principal:
    return Principal(USER, name)


ANONYMOUS = user("ANONYMOUS")
"""The principal of clients that have not authenticated."""


def parse_principal(text: str) -> Principal:
    """Parse `User:alice`. Raises ValueError if the text has no colon."""
    kind, colon, name = text.partition(":")
    if not colon:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return Principal(kind, name)


def parse_super_users(text: str) -> list[Principal]:
    """Parse the property super.users, as in `User:admin;User:alice`. Raises ValueError."""
    return [parse_principal(part.strip()) for part in text.split(";") if part.strip()]
