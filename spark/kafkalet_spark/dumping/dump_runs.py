"""Record the files of a run in OUT/_runs/000007.json, and move them into place.

The record is written after all files of the run are complete, and before the first of them is renamed. From then on,
the run is committed: if it is interrupted, the next run completes it with `finish`, which can be repeated any number of
times.

    {"version": 1, "run": 7, "at": "2026-11-21T20:04:05.678Z",
     "partitions": [{"topic": "flights", "partition": 0, "topicId": null, "from": 0, "to": 842, "lost": 0}],
     "files": [{"staged": "_staging/3f.../0.parquet",
                "path": "topic=flights/partition=0/date=2013-01-01/0...0-0...841.000007.parquet",
                "firstOffset": 0, "lastOffset": 841, "records": 842, "bytes": 20480}]}

`lost` is the number of offsets before `from` that were deleted before they could be dumped (failOnDataLoss=false).
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafkalet_spark.options import TopicPartition

from .manifest import VERSION, Dumped, Manifest, NoManifest, flush, read_json, write_json, write_manifest

_LOG = logging.getLogger("kafkalet_spark")

RUNS = "_runs"
STAGING = "_staging"


class Covered(NamedTuple):
    """The offsets that a run dumped from a partition, from `start` up to but not including `end`, and how many offsets
    were lost before `start`."""

    topic: str
    partition: int
    topic_id: str | None
    start: int
    end: int
    lost: int = 0


class File(NamedTuple):
    """A file of a run: its staged and final paths, both relative to OUT, and a summary of its content."""

    staged: str
    path: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    records: int
    size_bytes: int


class DumpRun(NamedTuple):
    """A run, after all of its files have been written."""

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
        """Return the manifest as it is after this run."""
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
    """Flush the files of the run to disk, then commit the run. Raises FileNotFoundError if a file is missing."""
    flush(os.path.join(out, file.staged) for file in run.files)
    os.makedirs(os.path.join(out, RUNS), exist_ok=True)
    write_json(run_path(out, run.number), run.as_json())


def finish(out: str, run: DumpRun, before: Manifest) -> Manifest:
    """Move the files of a committed run into place, and update the manifest. This can be repeated."""
    for file in run.files:
        staged, path = os.path.join(out, file.staged), os.path.join(out, file.path)
        if os.path.exists(staged):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(staged, path)
        elif not os.path.exists(path):
            raise NoManifest(f"{run_path(out, run.number)}: {file.path} does not exist and is not in {STAGING}")
    flush({os.path.dirname(os.path.join(out, file.path)) for file in run.files})
    manifest = run.after(before)
    write_manifest(out, manifest)
    return manifest


def pending(out: str, manifest: Manifest) -> DumpRun | None:
    """Return the run that is committed but not yet in the manifest, or None. There is at most one. Raises
    NoManifest."""
    path = run_path(out, manifest.run + 1)
    try:
        return DumpRun.of_json(read_json(path))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as error:
        raise NoManifest(f"{path}: not a valid run record: {error!r}") from error


def recover(out: str, manifest: Manifest) -> Manifest:
    """Finish an interrupted run if it was committed; otherwise, delete its files. Return the current manifest."""
    run = pending(out, manifest)
    if run is not None:
        manifest = finish(out, run, manifest)
        _LOG.info("finished interrupted run %d into %s", run.number, out)
    clear_staging(out)
    return manifest


def clear_staging(out: str) -> None:
    shutil.rmtree(os.path.join(out, STAGING), ignore_errors=True)
