"""The recorded transcripts: the steps of a scenario, with the responses of each release of Apache Kafka.

`recordings/AREA.jsonl.xz` has the transcripts of the scenarios of one area, compressed with LZMA: one JSON object per
line, sorted by name. `recordings/index.json`, the catalog, lists the area of each scenario.

A transcript has `name`, `needs` (see docs/scenario-format.md), `in_order` (whether the recorded order of arrays other
than those of Fetch can be compared), and `releases`. The oldest release has all its steps. The steps of a later release
refer to those of the release before it where possible, because most requests and responses are the same: `[2, 9]`
stands for steps 2 to 8, and `{"like": 9, "expect": ...}` for step 9 with another response.
"""

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

RECORDINGS = cast(Path, files("kafkalet_conformance")) / "recordings"
"""The directory of the recordings. In the zip file kafkalet.pyz it is a `zipfile.Path`, which reads like a Path."""
INDEX = "index.json"
SUFFIX = ".jsonl.xz"
_NAME = '{"name":"'

Step = dict[str, Any]
"""One step of a scenario as JSON; docs/scenario-format.md describes the fields of each operation."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The recorded scenario `name`. `steps` has an entry for each release, in the order of the releases."""

    name: str
    needs: Mapping[str, Any]
    steps: Mapping[str, list[Step]]
    in_order: bool = True
    """Whether the order of arrays was recorded; if not, only that of Fetch responses is compared."""

    def apis(self) -> Iterator[tuple[str, str, int]]:
        """Yield release, API and version of each recorded response."""
        for release, steps in self.steps.items():
            versions: dict[str, int] = {}
            for step in steps:
                if step["op"] == "send":
                    versions[step["id"]] = step["version"]
                if "case" in step and "api" in step:
                    yield release, step["api"], step.get("version", versions.get(step.get("id", ""), -1))

    def versions(self) -> dict[str, tuple[int, int]]:
        """Return the lowest and the highest version of each API that has a recorded response, in any release."""
        found: dict[str, tuple[int, int]] = {}
        for _, api, version in self.apis():
            low, high = found.get(api, (version, version))
            found[api] = min(low, version), max(high, version)
        return found


@dataclass
class Damaged(Exception):
    """A transcript cannot be read."""

    name: str
    reason: str = field(default="")

    def __str__(self) -> str:
        return f"the transcript {self.name} cannot be read: {self.reason}"


def names() -> list[str]:
    """Return the names of all recorded scenarios, sorted."""
    return sorted(_areas())


def load(name: str) -> Transcript:
    """Read a transcript. Raises FileNotFoundError if there is none, or Damaged if it cannot be read."""
    if name not in _areas():
        raise FileNotFoundError(f"there is no transcript of {name}")
    return decode(name, archive(_areas()[name]).get(name, "no longer recorded"))


def save(transcripts: Iterable[Transcript], area: str) -> None:
    """Write transcripts to the archive of their area, and replace earlier ones of the same names."""
    lines = {**archive(area), **{each.name: encode(each) for each in transcripts}}
    write_archive(area, lines)


@lru_cache(maxsize=2)
def archive(area: str) -> Mapping[str, str]:
    """Return the line of each scenario in the archive of an area; nothing if the area has no archive."""
    path = RECORDINGS / (area + SUFFIX)
    if not path.exists():
        return {}
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        return {line[len(_NAME) : line.index('"', len(_NAME))]: line for line in lines}
    except (lzma.LZMAError, ValueError) as error:
        raise Damaged(path.name, str(error)) from error


def write_archive(area: str, lines: Mapping[str, str]) -> None:
    """Write the archive of an area, or remove it if there are no lines."""
    path = RECORDINGS / (area + SUFFIX)
    if lines:
        text = "\n".join(lines[name] for name in sorted(lines)) + "\n"
        path.write_bytes(lzma.compress(text.encode(), check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME))
    else:
        path.unlink(missing_ok=True)
    archive.cache_clear()


def archived_areas() -> list[str]:
    """Return the areas that have an archive, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in RECORDINGS.iterdir() if path.name.endswith(SUFFIX))


@cache
def _areas() -> dict[str, str]:
    """Return the area of each scenario in the catalog."""
    return {line["name"]: line["area"] for line in json.loads((RECORDINGS / INDEX).read_text(encoding="utf-8"))}


def forget() -> None:
    """Clear the caches, because the files have changed."""
    archive.cache_clear()
    _areas.cache_clear()


def read_file(path: Path) -> Transcript:
    """Read a transcript that `write_file` wrote. Raises OSError, or Damaged if the file is not a transcript."""
    return decode(path.stem, path.read_text(encoding="utf-8", errors="replace"))


def write_file(transcript: Transcript, path: Path) -> None:
    """Write a transcript as text, with one step per line."""
    head = json.dumps({"name": transcript.name, "needs": transcript.needs, "in_order": transcript.in_order})
    releases = []
    for release, steps in transcript.steps.items():
        lines = ",\n  ".join(json.dumps(step, separators=(",", ":")) for step in steps)
        releases.append(f'"{release}": [\n  {lines}\n]')
    path.write_text(f'{head[:-1]}, "releases": {{{", ".join(releases)}}}}}\n', encoding="utf-8")


def decode(name: str, text: str) -> Transcript:
    """Return the transcript in a JSON text. Raises Damaged if it has none."""
    try:
        content = json.loads(text)
        steps: dict[str, list[Step]] = {}
        for release, own in content["releases"].items():
            steps[release] = _with_references(own, next(reversed(list(steps.values())), []))
        return Transcript(name, content["needs"], steps, content["in_order"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Damaged(name, f"{type(error).__name__}: {error}") from error


def _with_references(own: list[Any], earlier: list[Step]) -> list[Step]:
    """Resolve the references in the steps of a release to the steps of an earlier one."""
    steps: list[Step] = []
    for item in own:
        match item:
            case [first, end]:
                steps += earlier[first:end]
            case {"like": number, "expect": expect}:
                steps.append(earlier[number] | {"expect": expect})
            case _:
                steps.append(item)
    return steps


def by_release(steps: Mapping[str, list[Step]]) -> dict[str, list[Step]]:
    """Return the steps of each release in the order of the releases: 4.4 is older than 4.10."""
    return dict(sorted(steps.items(), key=lambda pair: [int(number) for number in pair[0].split(".")]))


def encode(transcript: Transcript) -> str:
    """Return a transcript as one line of JSON, with references between the releases."""
    releases: dict[str, Any] = {}
    earlier: list[Step] = []
    for release, steps in transcript.steps.items():
        releases[release] = _referring(steps, earlier)
        earlier = steps
    content = {"name": transcript.name, "needs": transcript.needs, "in_order": transcript.in_order}
    return json.dumps(content | {"releases": releases}, separators=(",", ":"))


def _referring(steps: list[Step], earlier: list[Step]) -> list[Any]:
    """Return steps with references to those of an earlier release; comments are not compared."""
    whole = {_key(step): number for number, step in reversed(list(enumerate(earlier)))}
    asked = {_key(step, "expect"): number for number, step in reversed(list(enumerate(earlier))) if "expect" in step}
    out: list[Any] = []
    for step in steps:
        if (number := whole.get(_key(step))) is not None:
            if out and isinstance(out[-1], list) and out[-1][1] == number:
                out[-1][1] += 1
            else:
                out.append([number, number + 1])
        elif "expect" in step and (number := asked.get(_key(step, "expect"))) is not None:
            out.append({"like": number, "expect": step["expect"]})
        else:
            out.append(step)
    return out


def _key(step: Step, without: str = "") -> str:
    return json.dumps({key: value for key, value in without_comments(step).items() if key != without}, sort_keys=True)


def without_comments(value: Any) -> Any:
    """Return steps without their comments, the keys that start with `#`."""
    match value:
        case dict():
            return {key: without_comments(item) for key, item in value.items() if not key.startswith("#")}
        case list():
            return [without_comments(item) for item in value]
    return value
