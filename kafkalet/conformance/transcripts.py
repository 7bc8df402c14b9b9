"""The recorded transcripts: the steps of a scenario, with the answers of each release of Apache Kafka.

`recordings/NAME.json.zlib` is the transcript of one scenario in all releases. The file is compressed with zlib and the
preset dictionary in `recordings/dictionary.txt`, because small files that resemble each other compress well only
together. The dictionary must not change: a file can be read only with the dictionary with which it was written.

The content is a JSON object: `needs` (see docs/scenario-format.md), `in_order` (whether the recorded order of arrays
other than those of Fetch can be compared), and `releases`, which has for each release its steps, or the name of an
earlier release with the same steps and answers.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"
SUFFIX = ".json.zlib"

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
        """Yield release, API and version of each recorded answer."""
        for release, steps in self.steps.items():
            versions: dict[str, int] = {}
            for step in steps:
                if step["op"] == "send":
                    versions[step["id"]] = step["version"]
                if "case" in step and "api" in step:
                    yield release, step["api"], step.get("version", versions.get(step.get("id", ""), -1))


@dataclass
class Damaged(Exception):
    """A transcript cannot be read."""

    name: str
    reason: str = field(default="")

    def __str__(self) -> str:
        return f"the transcript {self.name} cannot be read: {self.reason}"


def names() -> list[str]:
    """Return the names of all recorded scenarios, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in RECORDINGS.iterdir() if path.name.endswith(SUFFIX))


def load(name: str) -> Transcript:
    """Read a transcript. Raises FileNotFoundError, or Damaged if the file is not a transcript."""
    data = (RECORDINGS / (name + SUFFIX)).read_bytes()
    try:
        reader = zlib.decompressobj(zdict=_dictionary())
        return decode(name, reader.decompress(data) + reader.flush())
    except (zlib.error, ValueError, LookupError) as error:
        raise Damaged(name, str(error)) from error


def save(transcript: Transcript, directory: Path = RECORDINGS) -> None:
    """Write a transcript, and replace an earlier one of the same name."""
    writer = zlib.compressobj(9, memLevel=9, zdict=_dictionary())
    (directory / (transcript.name + SUFFIX)).write_bytes(writer.compress(encode(transcript)) + writer.flush())


def read_file(path: Path) -> Transcript:
    """Read a transcript that `write_file` wrote. Raises OSError, or Damaged if the file is not a transcript."""
    try:
        return decode(path.stem, path.read_bytes())
    except (ValueError, LookupError, TypeError) as error:
        raise Damaged(path.name, str(error)) from error


def write_file(transcript: Transcript, path: Path) -> None:
    """Write a transcript as text, with one step per line."""
    head = json.dumps({"needs": transcript.needs, "in_order": transcript.in_order})
    releases = []
    for release, steps in transcript.steps.items():
        lines = ",\n  ".join(json.dumps(step, separators=(",", ":")) for step in steps)
        releases.append(f'"{release}": [\n  {lines}\n]')
    path.write_text(f'{head[:-1]}, "releases": {{{", ".join(releases)}}}}}\n', encoding="utf-8")


def decode(name: str, data: bytes) -> Transcript:
    content = json.loads(data)
    releases: dict[str, Any] = content["releases"]
    steps = {release: releases[own] if isinstance(own, str) else own for release, own in releases.items()}
    return Transcript(name, content["needs"], steps, content["in_order"])


def by_release(steps: Mapping[str, list[Step]]) -> dict[str, list[Step]]:
    """Return the steps of each release in the order of the releases: 4.4 is older than 4.10."""
    return dict(sorted(steps.items(), key=lambda pair: [int(number) for number in pair[0].split(".")]))


def encode(transcript: Transcript) -> bytes:
    releases: dict[str, Any] = {}
    for release, steps in transcript.steps.items():
        same = (other for other in releases if without_comments(transcript.steps[other]) == without_comments(steps))
        releases[release] = next(same, steps)
    content = {"needs": transcript.needs, "in_order": transcript.in_order, "releases": releases}
    return json.dumps(content, separators=(",", ":")).encode()


def without_comments(value: Any) -> Any:
    """Return steps without their comments, the keys that start with `#`."""
    match value:
        case dict():
            return {key: without_comments(item) for key, item in value.items() if not key.startswith("#")}
        case list():
            return [without_comments(item) for item in value]
    return value


@cache
def _dictionary() -> bytes:
    return (RECORDINGS / "dictionary.txt").read_bytes()
