"""The catalogue: what the recorded scenarios claim, where the claims come from, and which releases and APIs they cover.

`recordings/index.json` has one line for each scenario. recording/index.py writes it from the definitions of the
scenarios and from their transcripts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from .transcripts import RECORDINGS

Level = Literal["must", "should", "detail"]
"""How much depends on a scenario: `must`: clients lose, repeat or misread records, or stop, if a broker differs;
`should`: a client or a tool sees the difference; `detail`: only a comparison of single fields shows it."""
LEVELS: tuple[Level, ...] = get_args(Level)
INDEX = "index.json"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A recorded scenario. `apis` has the lowest and highest version of each API with recorded answers."""

    name: str
    area: str
    claim: str
    level: Level
    sources: tuple[str, ...]
    releases: tuple[str, ...]
    needs: Mapping[str, Any]
    apis: Mapping[str, tuple[int, int]]
    cases: int
    """The number of recorded answers in the newest release."""

    @property
    def kips(self) -> tuple[str, ...]:
        return tuple(source for source in self.sources if source.startswith("KIP-"))


@cache
def scenarios() -> dict[str, Scenario]:
    """Return all recorded scenarios by name."""
    lines = json.loads((RECORDINGS / INDEX).read_text(encoding="utf-8"))
    return {line["name"]: _scenario(line) for line in lines}


def _scenario(line: dict[str, Any]) -> Scenario:
    tuples = {key: tuple(line[key]) for key in ("sources", "releases")}
    return Scenario(**line | tuples | {"apis": {api: (low, high) for api, (low, high) in line["apis"].items()}})


def select(
    *,
    release: str,
    only: Iterable[str] = (),
    apis: Iterable[str] = (),
    kips: Iterable[str] = (),
    levels: Iterable[Level] = LEVELS,
) -> list[Scenario]:
    """Return the scenarios of a release that match all given conditions, sorted by area and name.

    `only` has areas and names of scenarios, `apis` and `kips` what a scenario must contain at least one of.
    """
    only, apis, kips, levels = set(only), set(apis), set(kips), set(levels)
    found = [
        each
        for each in scenarios().values()
        if release in each.releases
        and (not only or each.area in only or each.name in only)
        and (not apis or apis & each.apis.keys())
        and (not kips or kips & set(each.kips))
        and each.level in levels
    ]
    return sorted(found, key=lambda each: (each.area, each.name))
