"""Data directories that Apache Kafka has written, as text, with its responses.

RELEASE.json has the properties of the broker, the times of the recording and, compressed, the files and the responses.
`python -m tests.oracle.storage.written` records them.
"""

import base64
import io
import json
import lzma
import tarfile
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from tests.recorded.answers import Answers

HERE = Path(__file__).parent


class Recording(NamedTuple):
    """What is known about a recorded directory."""

    release: str
    config: dict[str, str]
    first_ms: int
    """The time of the first records."""
    recorded_ms: int
    """When the directory was recorded. Groups and transactions have not timed out at that time."""
    expected: list[Answers]


def save(recording: Recording, directory: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(directory, ".")
    parts = recording._asdict() | {
        "expected": _text(json.dumps(recording.expected, sort_keys=True).encode()),
        "files": _text(archive.getvalue()),
    }
    (HERE / f"{recording.release}.json").write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")


def load(release: str, directory: Path) -> Recording:
    """Write the files of a recorded directory to `directory`."""
    parts: dict[str, Any] = json.loads((HERE / f"{release}.json").read_text(encoding="utf-8"))
    with tarfile.open(fileobj=io.BytesIO(_data(parts.pop("files"))), mode="r") as tar:
        tar.extractall(directory, filter="data")
    return Recording(**parts | {"expected": json.loads(_data(parts["expected"]))})


def _text(data: bytes) -> list[str]:
    return textwrap.wrap(base64.b64encode(lzma.compress(data, preset=9)).decode(), 110)


def _data(lines: list[str]) -> bytes:
    return lzma.decompress(base64.b64decode("".join(lines)))
