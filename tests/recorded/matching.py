"""Is this answer the recorded one?

`$name` in a recorded answer stands for a bound value, `$?name` for any number; `$NODE` `$CLUSTER` `$NOW` `$TEXT` `$MAX`
and `ZERO` for what their names say. `$MEMBER` is a member id that a broker made up for a client, `$MEMBER:i1` one for
the static member i1, `$UUID` one of KIP-848. Text that begins with `hex:` is bytes, where `<name>` stands for a bound
value, `<now>` for the present as an int64, and `<any>` for any eight bytes. Keys that start with `#` are comments.
Topics, partitions and members may come in any order, except where the caller says that order counts.
"""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

IGNORED = {"throttle_time_ms", "host", "port", "rack"}
NAME = re.compile(r"\$([A-Za-z_][\w.]*?)([+-]\d+)?$")
MADE_UP = re.compile(r"(?P<of>.*)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)
CLIENT_ID = "conformance"
UUID = re.compile(r"[A-Za-z0-9_-]{22}")
HEX, PRESENT, CHANCE = "hex:", "<now>", "<any>"
MINUTES_MS = 10 * 60 * 1000
ORDERS = (
    "name",
    "topic",
    "topic_id",
    "topic_name",
    "partition_index",
    "partition",
    "index",
    "group_id",
    "broker_id",
    "node_id",
    "producer_id",
    "transactional_id",
    "member_id",
    "entity_type",
    "key",
)

SETS = {"partitions": int, "subscribed_topic_names": str}


class Difference(NamedTuple):
    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path or 'answer'}: expected {_short(self.expected)}, got {_short(self.got)}"


class Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


def _short(value: Any, limit: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def resolve(value: Any, names: dict[str, Any]) -> Any:
    """Put the bound values where their names stand; unbound names stay."""
    match value:
        case dict():
            return {key: resolve(item, names) for key, item in value.items()}
        case list():
            return [resolve(item, names) for item in value]
        case str() if value.startswith(HEX):
            return re.sub(r"<(\w[\w.]*)>", lambda found: in_hex(names.get(found[1])) or found[0], value)
        case str() if (match := NAME.fullmatch(value)) and match[1] in names:
            bound = names[match[1]]
            return bound + int(match[2]) if match[2] else bound
    return value


def in_hex(value: Any) -> str:
    """How a bound value looks inside of bytes: text, the bytes of a topic's id, or an int64."""
    match value:
        case None:
            return ""
        case int():
            return value.to_bytes(8, "big", signed=True).hex()
    try:
        return uuid.UUID(value).bytes.hex()
    except ValueError:
        return str(value).encode().hex()


InOrder = bool | frozenset[str]
"""The arrays of an answer whose order counts: all, none, or those of these fields."""


def tidy(answer: Any, in_order: InOrder, field: str = "") -> Any:
    """Leave out what is not compared, and sort what has no order."""
    match answer:
        case dict():
            kept = {key: tidy(item, in_order, key) for key, item in answer.items()}
            for key, kind in SETS.items():
                if not _counts(in_order, key) and all(type(one) is kind for one in kept.get(key) or [None]):
                    kept[key] = sorted(kept[key])
            return {key: item for key, item in kept.items() if key not in IGNORED and not key.startswith("#")}
        case list():
            items = [tidy(item, in_order, field) for item in answer]
            return items if _counts(in_order, field) else sorted(items, key=_order)
    return answer


def _counts(in_order: InOrder, field: str) -> bool:
    return in_order if isinstance(in_order, bool) else field in in_order


def _order(item: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(item, dict):
        return ()
    if "entity" in item:  # whom a quota is for
        return ((repr(item["entity"]), 0),)
    found = ((str(item[key]), 0) if isinstance(item[key], str) else ("", item[key]) for key in ORDERS if key in item)
    return tuple(pair for pair in found if pair[1] is not None)


class Matcher:
    """Compares answers of one broker, for which it is `now_ms()`."""

    def __init__(
        self,
        placeholders: dict[str, Callable[[Any], bool]],
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self.now_ms = now_ms
        self.placeholders = {"$TEXT": _is_text, "$NOW": self._is_now, "$UUID": _is_uuid, **placeholders}

    def differences(self, expected: Any, got: Any, in_order: InOrder = True) -> list[Difference]:
        found: list[Difference] = []
        self._compare(tidy(expected, in_order), tidy(got, in_order), "", found)
        return found

    def _compare(self, expected: Any, got: Any, path: str, found: list[Difference]) -> None:
        if isinstance(expected, dict) and isinstance(got, dict):
            for key in {**expected, **got}:
                self._compare(expected.get(key, MISSING), got.get(key, MISSING), f"{path}.{key}".lstrip("."), found)
        elif isinstance(expected, list) and isinstance(got, list):
            for n in range(max(len(expected), len(got))):
                sides = [side[n] if n < len(side) else MISSING for side in (expected, got)]
                self._compare(sides[0], sides[1], f"{path}[{n}]", found)
        elif not self._equal(expected, got):
            found.append(Difference(path, expected, got))

    def _equal(self, expected: Any, got: Any) -> bool:
        if isinstance(expected, str) and expected.startswith("$?"):
            return type(got) is int
        if isinstance(expected, str) and expected.startswith("$MEMBER") and isinstance(got, str):
            made = MADE_UP.fullmatch(got)
            return made is not None and made["of"] == (
                CLIENT_ID if expected == "$MEMBER" else expected.removeprefix("$MEMBER:")
            )
        if isinstance(expected, str) and expected.startswith(HEX) and isinstance(got, str):
            return self._is_same_hex(expected, got)
        if isinstance(expected, str) and (test := self.placeholders.get(expected)):
            return test(got)
        return type(expected) is type(got) and bool(expected == got)

    def _is_same_hex(self, expected: str, got: str) -> bool:
        wanted = re.escape(expected).replace(re.escape(PRESENT), "([0-9a-f]{16})")
        match = re.fullmatch(wanted.replace(re.escape(CHANCE), "[0-9a-f]{16}"), got)
        return match is not None and all(self._is_now(int(time_ms, 16)) for time_ms in match.groups())

    def _is_now(self, value: Any) -> bool:
        return type(value) is int and abs(value - self.now_ms()) < MINUTES_MS


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None
