"""The recorded scenarios with their claims, for docs/conformance-scenarios.md."""

import re
from collections.abc import Iterable, Sequence

from kafkalet_conformance.catalog import AREAS, LEVELS, Scenario, scenarios
from kafkalet_conformance.judging.nearest import recorded_releases


def text() -> str:
    """Return the number of scenarios of each area, and a table for each area."""
    areas = {area: [each for each in scenarios().values() if each.area == area] for area in AREAS}
    counted = [
        [f"`{area}`", f"[{AREAS[area].title}](#{_anchor(AREAS[area].title)})", *_counts(found)]
        for area, found in areas.items()
    ]
    total = ["", "Total", *_counts(scenarios().values())]
    parts = [_table(["Area", "Feature", *(f"`{level}`" for level in LEVELS), "Responses"], [*counted, total])]
    for area, found in areas.items():
        rows = [_row(each) for each in sorted(found, key=lambda each: each.name)]
        parts += [
            f"## {AREAS[area].title}",
            f"`{area}`: {AREAS[area].description}",
            _table(["Scenario", "Claim", "Level", "Sources", "APIs", "Releases"], rows),
        ]
    return "\n\n".join(part.strip("\n") for part in parts)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-")


def _counts(found: Iterable[Scenario]) -> list[str]:
    found = list(found)
    levels = [sum(each.level == level for each in found) for level in LEVELS]
    return [str(count) for count in (*levels, sum(each.cases for each in found))]


def _row(scenario: Scenario) -> list[str]:
    apis = [f"{api} {low}" if low == high else f"{api} {low}-{high}" for api, (low, high) in scenario.apis.items()]
    return [
        f"`{scenario.name}`",
        scenario.claim.replace("|", "\\|"),
        scenario.level,
        ", ".join(_short(source) for source in scenario.sources),
        ", ".join(apis),
        ", ".join(ranges(scenario.releases, recorded_releases())),
    ]


def ranges(releases: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return releases with each range of neighbors in `known` as its first and its last release."""
    found: list[list[str]] = []
    for release in releases:
        place = known.index(release)
        if found and place and known[place - 1] == found[-1][-1]:
            found[-1].append(release)
        else:
            found.append([release])
    return [each[0] if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in found]


def _short(source: str) -> str:
    """Return a KIP as it is, and the name of a class or method without its package."""
    if source.startswith("KIP-"):
        return source
    parts = source.split(".")
    first = next(index for index, part in enumerate(parts) if part[:1].isupper())
    return f"`{'.'.join(parts[first:])}`"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))
