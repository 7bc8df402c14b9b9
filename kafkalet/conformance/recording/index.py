"""Write recordings/index.json, the catalogue of the recorded scenarios, and the page docs/conformance-scenarios.md.

    python -m kafkalet.conformance.recording.index

This is needed after a claim, a level, a source or a transcript has changed.
"""

import json

from kafkalet.conformance.catalogue import AREAS, INDEX, scenarios
from kafkalet.conformance.scenarios import definitions
from kafkalet.conformance.transcripts import RECORDINGS, load, names

from . import errors_page, scenarios_page


def text() -> str:
    """Return the content of the index: a JSON list with one line for each scenario."""
    lines = [json.dumps(_line(name), ensure_ascii=False) for name in names()]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _line(name: str) -> dict[str, object]:
    transcript, definition = load(name), definitions()[name]
    if definition.area not in AREAS:
        raise ValueError(f"{name}: there is no area {definition.area!r}; the areas are {', '.join(AREAS)}")
    apis: dict[str, tuple[int, int]] = {}
    for _, api, version in transcript.apis():
        low, high = apis.get(api, (version, version))
        apis[api] = min(low, version), max(high, version)
    newest = list(transcript.steps)[-1]
    return {
        "name": name,
        "area": definition.area,
        "claim": definition.claim,
        "level": definition.level,
        "sources": definition.sources,
        "releases": list(transcript.steps),
        "needs": transcript.needs,
        "apis": dict(sorted(apis.items())),
        "cases": sum("case" in step for step in transcript.steps[newest]),
    }


def main() -> None:
    (RECORDINGS / INDEX).write_text(text(), encoding="utf-8")
    scenarios.cache_clear()
    scenarios_page.write()
    errors_page.write()


if __name__ == "__main__":
    main()
