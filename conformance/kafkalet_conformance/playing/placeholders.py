"""Replace the values in a response that differ between runs with placeholders."""

import re
import time
from collections.abc import Iterable
from typing import Any

from kafkalet.protocol.errors import Code

from .matching import CHANCE, HEX, PRESENT, UUID, in_hex
from .player import Player
from .target import Target
from .tolerances import MINUTES_MS, is_ignored

TIMES_OF_TOKENS = {f"{name}_timestamp{unit}" for name in ("issue", "expiry", "max") for unit in ("", "_ms")}
MINUTE_MS = 60_000
SIZES_OF_DISK = {"total_bytes", "usable_bytes"}
NODES = {"leader_id", "controller_id", "node_id", "replica_nodes", "isr_nodes", "broker_id", "coordinator_id"}


def masked_coordinator_record(item: dict[str, Any]) -> dict[str, Any]:
    """Mask values in coordinator records that vary by run: partitions of groups, metadata hashes and image versions."""
    match item:
        case {"topic": "__consumer_offsets", "partitions": [int(), *others]}:
            return item | {"partitions": ["$?partition"] * (1 + len(others))}
        case {"key": str(key), "value": str(value)} if key.startswith(HEX + "0003"):
            return item | {"value": re.sub(r"(?<=010008)[0-9a-f]{16}$", CHANCE, value)}
        case {"key": str(key), "value": str(value)} if key.startswith(HEX + "0010"):
            return item | {"value": re.sub(f"[0-9a-f]{{16}}(?={PRESENT})", CHANCE, value)}
    return item


class Placeholders:
    """Replaces the values in a response that differ between runs with placeholders."""

    def __init__(self, player: Player, target: Target, just_bound: Iterable[str] = ()) -> None:
        self.target = target
        older = [name for name in player.names if name not in just_bound]
        telling = [(name, player.names[name]) for name in [*just_bound, *older] if name in player.names]
        bound = {name: value for name, value in telling if self.is_recognizable(name, value)}
        self.names = {value: f"${name}" for name, value in bound.items()}
        self.nodes: dict[int, str] = {}
        """The names of bound broker ids, if they are replaced: coordinators vary by run, leaders do not."""
        self.secrets = {value["hex"]: f"${name}" for name, value in telling if isinstance(value, dict)}
        self.times = {name: value for name, value in telling if name.startswith("T") and isinstance(value, int)}
        self.in_hex = {in_hex(value): f"<{name}>" for name, value in bound.items()}

    @staticmethod
    def is_recognizable(name: str, value: Any) -> bool:
        """Return whether a value can be recognized in a response; epochs and small numbers cannot."""
        return isinstance(value, str) or (type(value) is int and value >= 0 and name.startswith(("P", "S")))

    def of(self, value: Any, key: str = "") -> Any:
        match value:
            case dict():
                return masked_coordinator_record(
                    {
                        k: v
                        for n, item in value.items()
                        if not is_ignored(n, value)
                        for k, v in self.field(n, item).items()
                    }
                )
            case list():
                items = [self.of(item, key) for item in value]
                of_members = all(isinstance(item, dict) and "member_id" in item for item in items)
                return sorted(items, key=lambda item: str(item["member_id"])) if of_members else items
            case bool() | None:
                return value
            case int() if key in NODES and {value} == self.target.nodes:  # with several brokers, ids are compared
                return "$NODE"
            case int() if key in NODES and value in self.nodes:
                return self.nodes[value]
            case int() if abs(value - time.time() * 1000) < MINUTES_MS:
                return "$NOW"
            case str() if key == "cluster_id" and value == self.target.cluster_id:
                return "$CLUSTER"
            case str() if key == "topic_id" and value not in self.names and value != "ZERO":
                return "$TEXT"  # an id without a bound name
            case int() if key in ("producer_id", "session_id"):
                name = self.names.get(value, "")
                return name if name.startswith(f"${key[0].upper()}") else value
            case str() if value.startswith(HEX):
                return self.of_hex(value)
            case str():
                return self.names.get(value, value)
        return value

    def of_hex(self, value: str) -> str:
        """Replace bound values, the longest first, and the current time in bytes by placeholders."""
        known = sorted((hex_digits for hex_digits in self.in_hex if len(hex_digits) >= 16), key=len, reverse=True)
        out, at = HEX, len(HEX)
        while at < len(value):
            found = next((hex_digits for hex_digits in known if value.startswith(hex_digits, at)), "")
            if found:
                out += self.in_hex[found]
            elif abs(int(value[at : at + 16], 16) - time.time() * 1000) < MINUTES_MS:
                out, found = out + PRESENT, value[at : at + 16]
            else:
                out += value[at : at + 2]
            at += len(found) or 2
        return out

    def time_of_token(self, value: int) -> str:
        """Return the name of the bound time that equals this time, or that is a whole number of minutes earlier; "" if
        there is none. Times that the same response has bound are compared last.
        """
        for name, bound in reversed(self.times.items()):
            if (later := value - bound) >= 0 and later % MINUTE_MS == 0:
                return f"${name}+{later}" if later else f"${name}"
        return ""

    def field(self, name: str, item: Any) -> dict[str, Any]:
        if name in SIZES_OF_DISK and item >= 0:
            return {name: f"$?{name}"}
        if name == "hmac" and isinstance(item, dict):
            return {name: self.secrets.get(item["hex"], "$HMAC")}
        if name == "token_id" and UUID.fullmatch(item):
            return {name: self.names.get(item, "$UUID")}
        if name in TIMES_OF_TOKENS and item not in (0, -1) and (time_ := self.time_of_token(item)):
            return {name: time_}
        if name.endswith("_message") and isinstance(item, str):
            return {name: "$TEXT", f"#{name}": item}
        if name == "error_code" and item:
            return {name: item, "#error": Code(item).name}
        return {name: self.of(item, name)}
