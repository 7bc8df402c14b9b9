"""Compare several attempts at a scenario: responses that vary between them are unstable.

Values that differ between attempts for good reasons are masked: names and ids bound by the scenario, and current times.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafkalet_conformance.playing.player import Player
from kafkalet_conformance.playing.tolerances import MINUTES_MS
from kafkalet_conformance.results import CaseResult, Outcome

UUIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![\w-])[\w-]{22}(?![\w-])")
ITEM = re.compile(r"\[(\w+)=(.*?)\](?=[.\[]|$)", re.DOTALL)
"""An item in the path of a difference that is named by one of its fields."""
LEAST_ID = 1000
IDS = ("producer_id", "session_id")
"""Bound numbers from LEAST_ID on are masked wherever they occur. Smaller ones, which may equal other values by chance,
are masked only in the fields IDS.
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The cases of one attempt, and the player that performed it."""

    cases: tuple[CaseResult, ...]
    player: Player

    def signature(self, case: CaseResult) -> tuple[Outcome, str]:
        """Return the values that are equal in all attempts if a case is stable."""
        found = [
            (masked_path(each.path, self.player), masked(each.actual, self.player, each.path.rpartition(".")[2]))
            for each in case.differences
        ]
        return case.outcome, repr(found)


def combined(attempts: Sequence[Attempt]) -> tuple[CaseResult, ...]:
    """Return the cases of the first attempt; those whose response varies are UNSTABLE."""
    first, *others = attempts
    by_name = [{case.name: (each, case) for case in each.cases} for each in others]
    return tuple(
        _combined(first, case, [names[case.name] for names in by_name if case.name in names]) for case in first.cases
    )


def _combined(first: Attempt, case: CaseResult, others: Sequence[tuple[Attempt, CaseResult]]) -> CaseResult:
    signatures = {attempt.signature(each): each for attempt, each in [(first, case), *others]}
    if len(signatures) < 2:
        return case
    told = "; ".join(_told(each) for each in [case, *(other for _, other in others)])
    shown = next(each for each in signatures.values() if each.outcome is not Outcome.AS_KAFKA)
    differences = tuple({str(one): one for each in signatures.values() for one in each.differences}.values())
    return replace(
        shown, outcome=Outcome.UNSTABLE, reason=f"{len(others) + 1} attempts: {told}", differences=differences
    )


def _told(case: CaseResult) -> str:
    if not case.differences:
        return str(case.outcome) + (f" ({case.reason})" if case.reason else "")
    more = f" and {len(case.differences) - 1} more" if len(case.differences) > 1 else ""
    return f"{case.outcome} ({case.differences[0]}{more})"


def masked_path(path: str, player: Player) -> str:
    """Replace the values that name items in a path, such as `[producer_id=4000]`."""
    return ITEM.sub(lambda item: f"[{item[1]}={masked(_number(item[2]), player, item[1])}]", path)


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def masked(value: Any, player: Player, field: str = "") -> Any:
    """Mask the values that differ whenever the same steps are performed."""
    names = {bound: f"${name}" for name, bound in player.names.items() if isinstance(bound, int | str)}
    return _masked(value, player.uniques, names, field)


def _is_telling(bound: Any, field: str) -> bool:
    """Return whether a value of this field must be the bound one, rather than equal to it by chance."""
    return field in IDS or (abs(bound) >= LEAST_ID if isinstance(bound, int) else len(bound) > 2)


def _masked(value: Any, uniques: Iterable[str], names: Mapping[Any, str], field: str) -> Any:
    match value:
        case dict():
            return {key: _masked(item, uniques, names, key) for key, item in value.items()}
        case list() | tuple():
            return [_masked(item, uniques, names, field) for item in value]
        case bool() | None | float():
            return value
        case int() if abs(value - time.time() * 1000) < MINUTES_MS:
            return "$NOW"
        case int() | str() if value in names and _is_telling(value, field):
            return names[value]
        case str():
            for unique in uniques:
                value = value.replace(unique, "<unique>").replace(unique.encode().hex(), "<unique>")
            return UUIDS.sub("<uuid>", value)
    return value
