"""What a run wrote: OUT/_runs/000007.json, and how its files come to their place.

The record is written when every file of the run is whole and before the first of them has its name. From then on
the run counts: whoever comes next finishes it, by `finish`, which can be repeated from anywhere in its middle.

    {"version": 1, "run": 7, "at": "2026-11-21T20:04:05.678Z",
     "partitions": [{"topic": "flights", "partition": 0, "topicId": null, "from": 0, "to": 842, "lost": 0}],
     "files": [{"staged": "_staging/3f.../0.parquet",
                "path": "topic=flights/partition=0/date=2013-01-01/0...0-0...841.000007.parquet",
                "firstOffset": 0, "lastOffset": 841, "records": 842, "bytes": 20480}]}

`lost` are the offsets before `from` that were gone before they could be dumped (with failOnDataLoss=false).
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafkalet.pipeline.options import TopicPartition

from .manifest import VERSION, Dumped, Manifest, NoManifest, flush, read_json, write_json, write_manifest

_LOG = logging.getLogger("kafkalet.pipeline")

RUNS = "_runs"
STAGING = "_staging"


class Covered(NamedTuple):
    """Offsets of a partition that a run dumped, from `start` to before `end`; `lost` ones before them were gone."""

    topic: str
    partition: int
    topic_id: str | None
    start: int
    end: int
    lost: int = 0


class File(NamedTuple):
    """A file of a run: where a task put it, where it belongs (both within OUT), and what is in it."""

    staged: str
    path: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    records: int
    size_bytes: int


class DumpRun(NamedTuple):
    """A run that has dumped all that it was to dump."""

    number: int
    at: str
    settings: Mapping[str, str]
    covered: Sequence[Covered]
    files: Sequence[File]

    @property
    def records(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def after(self, before: Manifest) -> Manifest:
        """The manifest once this run is in place."""
        records: dict[TopicPartition, int] = {}
        for file in self.files:
            key = (file.topic, file.partition)
            records[key] = records.get(key, 0) + file.records
        partitions = dict(before.partitions)
        for part in self.covered:
            key = (part.topic, part.partition)
            earlier = partitions.get(key, Dumped(part.start, part.start, 0))
            partitions[key] = Dumped(earlier.start_offset, part.end, earlier.records + records.get(key, 0))
        ids = {**before.topic_ids, **{part.topic: part.topic_id for part in self.covered}}
        return Manifest(self.number, self.settings, ids, partitions)

    def as_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "run": self.number,
            "at": self.at,
            "settings": dict(self.settings),
            "partitions": [
                {
                    "topic": part.topic,
                    "partition": part.partition,
                    "topicId": part.topic_id,
                    "from": part.start,
                    "to": part.end,
                    "lost": part.lost,
                }
                for part in self.covered
            ],
            "files": [
                {
                    "staged": file.staged,
                    "path": file.path,
                    "topic": file.topic,
                    "partition": file.partition,
                    "firstOffset": file.first_offset,
                    "lastOffset": file.last_offset,
                    "records": file.records,
                    "bytes": file.size_bytes,
                }
                for file in self.files
            ],
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> DumpRun:
        return cls(
            int(found["run"]),
            str(found["at"]),
            dict(found["settings"]),
            [
                Covered(part["topic"], part["partition"], part["topicId"], part["from"], part["to"], part["lost"])
                for part in found["partitions"]
            ],
            [
                File(
                    file["staged"],
                    file["path"],
                    file["topic"],
                    file["partition"],
                    file["firstOffset"],
                    file["lastOffset"],
                    file["records"],
                    file["bytes"],
                )
                for file in found["files"]
            ],
        )


def run_path(out: str, number: int) -> str:
    return os.path.join(out, RUNS, f"{number:06}.json")


def commit(out: str, run: DumpRun) -> None:
    """Make the run count: its files are whole, and here. Raises FileNotFoundError if one of them is not here."""
    flush(os.path.join(out, file.staged) for file in run.files)
    os.makedirs(os.path.join(out, RUNS), exist_ok=True)
    write_json(run_path(out, run.number), run.as_json())


def finish(out: str, run: DumpRun, before: Manifest) -> Manifest:
    """Put the files of a run that counts in their places, and say so in the manifest. Can be repeated."""
    for file in run.files:
        staged, path = os.path.join(out, file.staged), os.path.join(out, file.path)
        if os.path.exists(staged):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(staged, path)
        elif not os.path.exists(path):
            raise NoManifest(f"{run_path(out, run.number)}: {file.path} is neither there nor in {STAGING}")
    flush({os.path.dirname(os.path.join(out, file.path)) for file in run.files})
    manifest = run.after(before)
    write_manifest(out, manifest)
    return manifest


def pending(out: str, manifest: Manifest) -> DumpRun | None:
    """The run that counts though the manifest does not know of it yet; at most one. Raises NoManifest."""
    path = run_path(out, manifest.run + 1)
    try:
        return DumpRun.of_json(read_json(path))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as error:
        raise NoManifest(f"{path}: not the record of a run: {error!r}") from error


def recover(out: str, manifest: Manifest) -> Manifest:
    """End what an earlier run began: finish it if it counts, else remove what it left. Gives the manifest then."""
    run = pending(out, manifest)
    if run is not None:
        manifest = finish(out, run, manifest)
        _LOG.info("run %d into %s had been interrupted; it is finished now", run.number, out)
    clear_staging(out)
    return manifest


def clear_staging(out: str) -> None:
    shutil.rmtree(os.path.join(out, STAGING), ignore_errors=True)
