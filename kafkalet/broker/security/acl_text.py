"""ACLs as text: `alice:read,describe:topic:orders*`.

One text stands for one ACL for each of its operations. The resource types and operations are Kafka's, in lower case
with hyphens; Kafka's own spelling, as in `TransactionalId` or `DESCRIBE_CONFIGS`, is understood as well.

Source: kafka.admin.AclCommand.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from .acl import (
    CLUSTER_NAME,
    OPERATIONS,
    PRINCIPAL_TYPE,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    word_of,
)

GRAMMAR = "[deny:]USER:OPERATION[,OPERATION]...:TYPE:NAME[*][ from ADDRESS]"
EXAMPLES = (
    "alice:read,describe:topic:orders*",
    "deny:*:delete:topic:*",
    "bob:read:group:billing from 10.0.0.7",
    "admin:alter:cluster",
)

_HOST = re.compile(r"(.+) from ([0-9A-Fa-f.:]+|\*)")


def _squeezed(word: str) -> str:
    return word.strip().replace("-", "").replace("_", "").lower()


_TYPE_OF = {_squeezed(kind.name): kind for kind in OPERATIONS}
_OPERATION_OF = {_squeezed(each.name): each for each in Operation if each > Operation.ANY}


def parse_acls(text: str) -> list[Acl]:
    """Return the ACLs in a string, one for each operation.

    A user is written as `User:` and a name, or as the name alone; `*` is every user. A resource name that ends with `*`
    is a prefix, and `*` alone is every resource. User and resource may contain colons. `cluster` needs no name.

    Raises ValueError with the text and the grammar in the message.
    """
    rest, host = text, WILDCARD
    if found := _HOST.fullmatch(text):
        rest, host = found[1], found[2]
    permission = Permission.ALLOW
    for word, meaning in (("deny:", Permission.DENY), ("allow:", Permission.ALLOW)):
        if rest.lower().startswith(word):
            rest, permission = rest[len(word) :], meaning
            break
    principal, operations, kind, name = _parts(text, rest)
    pattern, name = _pattern(text, kind, name)
    return [Acl(kind, pattern, name, principal, host, operation, permission) for operation in operations]


def _parts(text: str, rest: str) -> tuple[str, list[Operation], ResourceType, str]:
    """Split `USER:OPERATIONS:TYPE:NAME` at the first resource type that follows a known operation."""
    words = rest.split(":")
    for index in range(1, len(words) - 1):
        kind = _TYPE_OF.get(_squeezed(words[index + 1]))
        operations = [_OPERATION_OF.get(_squeezed(word)) for word in words[index].split(",")]
        if kind is None or not any(operations):
            continue
        if unknown := [word for word, known in zip(words[index].split(","), operations, strict=True) if known is None]:
            raise _refused(text, f"{unknown[0].strip() or 'an empty word'} is not an operation; {_allowed(kind)}")
        for operation in operations:
            if operation is not None and operation not in (Operation.ALL, *OPERATIONS[kind]):
                raise _refused(text, f"{word_of(operation)} does not exist for {word_of(kind)}; {_allowed(kind)}")
        known = list(dict.fromkeys(operation for operation in operations if operation is not None))
        return _principal(text, ":".join(words[:index])), known, kind, ":".join(words[index + 2 :])
    raise _refused(text, _missing(words))


def _allowed(kind: ResourceType) -> str:
    return f"the operations on a {word_of(kind)} are {', '.join(map(word_of, OPERATIONS[kind]))} and all"


def _missing(words: Sequence[str]) -> str:
    """Say which part of a string is missing or unknown."""
    for before, word in pairwise(words[1:]):
        if kind := _TYPE_OF.get(_squeezed(word)):
            return f"{before or 'an empty word'} is not an operation; {_allowed(kind)}"
    types = ", ".join(map(word_of, OPERATIONS))
    for operations, word in pairwise(words[1:]):
        if word and all(_squeezed(operation) in _OPERATION_OF for operation in operations.split(",")):
            return f"{word} is not a resource type; the types are {types}"
    return f"it has no user, operation and resource type; the types are {types}"


def _principal(text: str, given: str) -> str:
    name = given.removeprefix(PRINCIPAL_TYPE).strip()
    if not name:
        raise _refused(text, "the user is missing; * is every user")
    return PRINCIPAL_TYPE + name


def _pattern(text: str, kind: ResourceType, name: str) -> tuple[PatternType, str]:
    if kind is ResourceType.CLUSTER:
        if name not in ("", CLUSTER_NAME, WILDCARD):
            raise _refused(text, f"there is one cluster, whose name is {CLUSTER_NAME}; omit the name")
        return PatternType.LITERAL, CLUSTER_NAME
    if not name:
        raise _refused(text, f"the name of the {word_of(kind)} is missing; * is every {word_of(kind)}")
    prefix = name.removesuffix(WILDCARD)
    if WILDCARD in prefix:
        raise _refused(text, f"{name} has a * that is not the last character; Kafka only knows prefixes, as in orders*")
    if name == WILDCARD or prefix == name:
        return PatternType.LITERAL, name
    return PatternType.PREFIXED, prefix


def _refused(text: str, reason: str) -> ValueError:
    return ValueError(f"the ACL {text!r} is invalid: {reason}. Expected {GRAMMAR}, as in {EXAMPLES[0]}")
