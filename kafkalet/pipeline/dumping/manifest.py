"""Up to which offset each partition has been dumped: OUT/_manifest.json.

    {"version": 1, "run": 7,
     "settings": {"format": "parquet", "isolationLevel": "read_committed", ...},
     "topics": {"flights": {"topicId": "x3bK...",
                            "partitions": {"0": {"startOffset": 0, "nextOffset": 842, "records": 842}}}}}

`run` is the last one that is in place. `settings` are those that all runs of a dump have in common, for their files
are one table. `topicId` is null where the origin knows none (a log of before Kafka 2.8). `records` are fewer than
the offsets where markers, aborted records and compaction take some.

There is the old one or the new one, never a part.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from kafkalet.pipeline.options import TopicPartition

VERSION = 1
THREADS = 16


class NoManifest(Exception):
    """A file of the dump that cannot be understood. The text names it and says why."""


def read_json(path: str) -> Mapping[str, Any]:
    """An object of JSON of this version. Raises FileNotFoundError and NoManifest."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise NoManifest(f"{path}: not JSON: {error}") from error
    version = found.get("version") if isinstance(found, dict) else None
    if version != VERSION:
        raise NoManifest(f"{path}: version {version}, where this kafkalet reads and writes {VERSION}")
    return dict(found)


def write_json(path: str, value: object) -> None:
    """Put `value` at `path`, whole or not at all, and so that it outlives the machine."""
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    flush([os.path.dirname(path)])


def flush(paths: Iterable[str]) -> None:
    """Let files, and the names in directories, outlive the machine. Raises FileNotFoundError."""
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(_flush, paths):
            pass


def _flush(path: str) -> None:
    if os.name != "posix" and os.path.isdir(path):
        return  # Windows opens no directories
    number = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


NAME = "_manifest.json"


class Dumped(NamedTuple):
    """Of a partition: the first offset that was asked for, the one to go on at, and how many records lie between."""

    start_offset: int
    next_offset: int
    records: int


class Manifest(NamedTuple):
    """What all runs together have dumped."""

    run: int
    settings: Mapping[str, str]
    topic_ids: Mapping[str, str | None]
    partitions: Mapping[TopicPartition, Dumped]

    def as_json(self) -> dict[str, Any]:
        topics: dict[str, Any] = {}
        for (topic, partition), dumped in sorted(self.partitions.items()):
            entry = topics.setdefault(topic, {"topicId": self.topic_ids.get(topic), "partitions": {}})
            entry["partitions"][str(partition)] = {
                "startOffset": dumped.start_offset,
                "nextOffset": dumped.next_offset,
                "records": dumped.records,
            }
        return {"version": VERSION, "run": self.run, "settings": dict(self.settings), "topics": topics}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Manifest:
        topics = found["topics"]
        return cls(
            int(found["run"]),
            {str(name): str(value) for name, value in found["settings"].items()},
            {topic: entry["topicId"] for topic, entry in topics.items()},
            {
                (topic, int(number)): Dumped(int(at["startOffset"]), int(at["nextOffset"]), int(at["records"]))
                for topic, entry in topics.items()
                for number, at in entry["partitions"].items()
            },
        )


EMPTY = Manifest(0, {}, {}, {})


def read_manifest(out: str) -> Manifest:
    """The manifest of the dump in `out`, or EMPTY where there is none yet. Raises NoManifest."""
    path = os.path.join(out, NAME)
    try:
        return Manifest.of_json(read_json(path))
    except FileNotFoundError:
        return EMPTY
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoManifest(f"{path}: not a manifest of a dump: {error!r}") from error


def write_manifest(out: str, manifest: Manifest) -> None:
    write_json(os.path.join(out, NAME), manifest.as_json())
