"""Up to which offset each partition has been dumped: OUT/_manifest.json.

    {"version": 1, "run": 7,
     "settings": {"format": "parquet", "isolationLevel": "read_committed", ...},
     "topics": {"flights": {"topicId": "x3bK...",
                            "partitions": {"0": {"startOffset": 0, "nextOffset": 842, "records": 842}}}}}

`run` is the last one that is in place. `settings` are those that all runs of a dump have in common, for their files
are one table. `topicId` is null where the origin knows none (a log of before Kafka 2.8). `records` are fewer than
the offsets where markers, aborted records and compaction take some.

There is the old one or the new one, never a part (durable.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkalet.pipeline.options import TopicPartition

from .durable import VERSION, NoManifest, read_json, write_json

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
