"""Write recordings/index.json, the catalog of the recorded scenarios.

    python -m tools.recording index

This is needed after a claim, a level, an area, a source or a transcript has changed. Transcripts move to the archive
of their area.
"""

import json
from collections.abc import Iterator

from kafkalet_conformance.catalog import AREAS, scenarios
from kafkalet_conformance.judging.scope import scope
from kafkalet_conformance.transcripts import (
    INDEX,
    RECORDINGS,
    Transcript,
    archive,
    archived_areas,
    decode,
    forget,
    write_archive,
)

from .scenarios import definitions


def text() -> str:
    """Return the content of the index: a JSON list with one line for each scenario."""
    lines = [json.dumps(_line(each), ensure_ascii=False) for each in sorted(_archived(), key=lambda each: each.name)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _archived() -> Iterator[Transcript]:
    for area in archived_areas():
        for name, line in archive(area).items():
            yield decode(name, line)


def _line(transcript: Transcript) -> dict[str, object]:
    name = transcript.name
    definition = definitions()[name]
    if definition.area not in AREAS:
        raise ValueError(f"{name}: there is no area {definition.area!r}; the areas are {', '.join(AREAS)}")
    newest = list(transcript.steps)[-1]
    return {
        "name": name,
        "area": definition.area,
        "claim": definition.claim,
        "level": definition.level,
        "sources": definition.sources,
        "releases": list(transcript.steps),
        "needs": transcript.needs,
        "apis": dict(sorted(transcript.versions().items())),
        "cases": sum("case" in step for step in transcript.steps[newest]),
        "scopes": {release: reach for release, steps in transcript.steps.items() if (reach := scope(steps))},
    }


def sort_archives() -> None:
    """Move each transcript to the archive of the area that its definition names."""
    lines: dict[str, dict[str, str]] = {area: {} for area in archived_areas()}
    for area in archived_areas():
        for name, line in archive(area).items():
            lines.setdefault(definitions()[name].area, {})[name] = line
    for area, own in lines.items():
        if own != archive(area):
            write_archive(area, own)


def main() -> None:
    """Write the archives and the index."""
    sort_archives()
    (RECORDINGS / INDEX).write_text(text(), encoding="utf-8")
    scenarios.cache_clear()
    forget()
