"""Read and write the manifest OUT/_manifest.json, which holds the next offset of each partition.

    {"version": 1, "run": 7,
     "settings": {"format": "parquet", "isolationLevel": "read_committed", ...},
     "topics": {"flights": {"topicId": "x3bK...",
                            "partitions": {"0": {"startOffset": 0, "nextOffset": 842, "records": 842}}}}}

`run` is the last run whose files are in place. `settings` must be the same for all runs of a dump, because their files
form one table. `topicId` is null if the source has no topic ids (before Kafka 2.8). `records` is less than the number
of offsets if some offsets belong to markers or aborted records, or were compacted away.

The file is replaced atomically.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from kafkalet_spark.options import TopicPartition

VERSION = 1
THREADS = 16


class NoManifest(Exception):
    """A file of the dump is invalid. The message names the file and the reason."""


def read_json(path: str) -> Mapping[str, Any]:
    """Read a JSON object of this version. Raises FileNotFoundError or NoManifest."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise NoManifest(f"{path}: invalid JSON: {error}") from error
    version = found.get("version") if isinstance(found, dict) else None
    if version != VERSION:
        raise NoManifest(f"{path}: unsupported version {version}; this release of kafkalet supports {VERSION}")
    return dict(found)


def write_json(path: str, value: object) -> None:
    """Write `value` to `path` atomically, and flush it to disk."""
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    flush([os.path.dirname(path)])


def flush(paths: Iterable[str]) -> None:
    """Flush files and directory entries to disk. Raises FileNotFoundError."""
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(_flush, paths):
            pass


def _flush(path: str) -> None:
    if os.name != "posix" and os.path.isdir(path):
        return  # Windows cannot open directories
    number = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


NAME = "_manifest.json"


class Dumped(NamedTuple):
    """The state of one partition: the first offset that was requested, the next offset to dump, and the number of
    records dumped in between."""

    start_offset: int
    next_offset: int
    records: int


class Manifest(NamedTuple):
    """The combined result of all runs."""

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
    """Read the manifest of the dump in `out`; EMPTY if there is none. Raises NoManifest."""
    path = os.path.join(out, NAME)
    try:
        return Manifest.of_json(read_json(path))
    except FileNotFoundError:
        return EMPTY
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoManifest(f"{path}: not a valid manifest: {error!r}") from error


def write_manifest(out: str, manifest: Manifest) -> None:
    write_json(os.path.join(out, NAME), manifest.as_json())
