"""Write docs/conformance-scenarios.md, which lists every recorded scenario with its claim.

python -m tools.recording index
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kafkalet_conformance.catalogue import AREAS, LEVELS, Scenario, scenarios

COMMAND = "python -m tools.recording index"
FILE = Path(__file__).parents[2] / "docs" / "conformance-scenarios.md"

OPENING = f"""---
hide: [toc]
---

# Conformance scenarios

<!-- Written by `{COMMAND}` from the catalogue of scenarios; do not edit. -->

[`kafkalet conform`](conformance.md) judges a broker with these scenarios. Each scenario sends requests to the broker
and compares the responses with the recorded ones of Apache Kafka. The claim says what Apache Kafka does.

The level says how serious a difference is:

- `must`: if a broker differs, clients lose, repeat or misread records, or stop;
- `should`: a client or a tool sees the difference;
- `detail`: only a comparison of single fields shows the difference.

The sources are Kafka Improvement Proposals, and classes and methods of Kafka without their packages; the full names are
in `conformance/kafkalet_conformance/recordings/index.json`. The APIs are listed with the lowest and
highest version that has recorded responses.
"""


def page() -> str:
    """Return the text of the page."""
    areas = {area: [each for each in scenarios().values() if each.area == area] for area in AREAS}
    counted = [
        [f"`{area}`", f"[{AREAS[area].title}](#{_anchor(AREAS[area].title)})", *_counts(found)]
        for area, found in areas.items()
    ]
    total = ["", "Total", *_counts(scenarios().values())]
    parts = [OPENING, _table(["Area", "Feature", *(f"`{level}`" for level in LEVELS), "Responses"], [*counted, total])]
    for area, found in areas.items():
        rows = [_row(each) for each in sorted(found, key=lambda each: each.name)]
        parts += [
            f"## {AREAS[area].title}",
            f"`{area}`: {AREAS[area].description}",
            _table(["Scenario", "Claim", "Level", "Sources", "APIs", "Releases"], rows),
        ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def write() -> None:
    FILE.write_text(page(), encoding="utf-8")


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
        ", ".join(scenario.releases),
    ]


def _short(source: str) -> str:
    """Return a KIP as it is, and the name of a class or method without its package."""
    if source.startswith("KIP-"):
        return source
    parts = source.split(".")
    first = next(index for index, part in enumerate(parts) if part[:1].isupper())
    return f"`{'.'.join(parts[first:])}`"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))
