"""The dump job: determines the offsets, reads and writes the records with Spark, and commits the run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.clock import Clock, SystemClock
from kafkalet.locking import lock
from kafkalet_spark.failures import job_failures
from kafkalet_spark.option_types import BadOption, local_path, size_bytes
from kafkalet_spark.options import ReadOptions, read_options
from kafkalet_spark.origin import PartitionRange
from kafkalet_spark.reader import origin_of
from kafkalet_spark.source import FORMAT

from .dump_files import WrittenFile
from .dump_runs import Covered, DumpRun, File, clear_staging, commit, finish, pending, recover
from .lines import with_lines
from .manifest import EMPTY, Manifest, read_manifest
from .merging import merged
from .ranges import new_offsets, topic_ids
from .shape import COMPRESSIONS, DATE_FOLDERS, TARGET_FILE_BYTES, DumpShape
from .sink import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCK = "_lock"
_REPLACED = frozenset({"path", "paths", "assign", "subscribe", "subscribepattern"}) | {
    end + what
    for end in ("starting", "ending")
    for what in ("offsets", "timestamp", "offsetsbytimestamp", "offsetsbytimestampstrategy")
}
"""Source options that are not passed on, because the plan determines the offsets."""


class DumpRefused(Exception):
    """The dump cannot continue with these options. The message says why."""


class DumpOptions(NamedTuple):
    """The options of a dump: those of the source `kafkalog`, keyed by name, the output directory, and the shape of the
    files.
    """

    source: Mapping[str, str]
    out: str
    shape: DumpShape


class Plan(NamedTuple):
    """The plan of a run: the offsets to dump, any data losses before these offsets, and the current manifest."""

    read: ReadOptions
    covered: Sequence[Covered]
    losses: Sequence[str]
    manifest: Manifest

    @property
    def ranges(self) -> list[PartitionRange]:
        return [PartitionRange(part.topic, part.partition, part.start, part.end) for part in self.covered]


def dump_options(
    source: Mapping[str, str],
    out: str,
    file_format: str,
    compression: str | None = None,
    *,
    target_file_bytes: str | None = None,
    date_folders: str = "day",
) -> DumpOptions:
    """Check the options of a dump. `target_file_bytes` is a size such as 64m. Raises BadOption."""
    if file_format not in COMPRESSIONS:
        raise BadOption(f"format must be one of {', '.join(COMPRESSIONS)}, not {file_format}")
    allowed = COMPRESSIONS[file_format]
    chosen = compression or allowed[0]
    if chosen not in allowed:
        raise BadOption(f"compression of {file_format} must be one of {', '.join(allowed)}, not {chosen}")
    if read_options(source).mode == "PERMISSIVE":
        raise BadOption("mode must be FAILFAST or DROPMALFORMED for a dump, not PERMISSIVE")
    folder = local_path(out)
    if "://" in folder:
        raise BadOption(f"a dump requires a directory of a file system with rename, not {out}")
    target = TARGET_FILE_BYTES if target_file_bytes is None else size_bytes(target_file_bytes, "g")
    if not target:
        raise BadOption(f"target file size must be in bytes, or a size such as 64m, not {target_file_bytes!r}")
    if date_folders not in DATE_FOLDERS:
        raise BadOption(f"date folders must be one of {', '.join(DATE_FOLDERS)}, not {date_folders}")
    return DumpOptions(source, os.path.abspath(folder), DumpShape(file_format, chosen, target, date_folders))


def plan(options: DumpOptions) -> Plan:
    """Return the plan of the next run without changing anything. Raises BadOption, DataLoss, DumpRefused or
    NoManifest."""
    manifest = read_manifest(options.out)
    unfinished = pending(options.out, manifest)
    return _plan(options, unfinished.after(manifest) if unfinished else manifest)


def _no_merging(tasks: int, size_bytes: int) -> None:
    pass


def dump(
    spark: SparkSession,
    options: DumpOptions,
    planned: Callable[[Plan], None],
    *,
    merging: Callable[[int, int], None] = _no_merging,
    clock: Clock | None = None,
) -> DumpRun | None:
    """Dump the new records and return the run; None if there are no new records.

    `planned` is called before anything is read. `merging` is called before files are merged, with the number of merging
    tasks and the number of bytes. Raises the same exceptions as `plan`, and JobFailed if a task fails.
    """
    os.makedirs(options.out, exist_ok=True)
    with _alone(options.out):
        found = _plan(options, recover(options.out, read_manifest(options.out)))
        planned(found)
        if not found.covered:
            return None
        with job_failures():
            answers = _write(spark, options, found, merging)
        at = datetime.fromtimestamp((clock or SystemClock()).now_ms() / 1000, UTC).isoformat(timespec="milliseconds")
        number = found.manifest.run + 1
        files = [_file(answer, number, options.shape) for answer in answers]
        run = DumpRun(number, at.replace("+00:00", "Z"), _settings(options, found.read), found.covered, files)
        try:
            commit(options.out, run)
        except FileNotFoundError as error:
            raise DumpRefused(
                f"{error.filename} was written by a task but is not found here: {options.out} must be a directory "
                "that is shared between this machine and all Spark executors"
            ) from error
        finish(options.out, run, found.manifest)
        clear_staging(options.out)
        return run


def _plan(options: DumpOptions, manifest: Manifest) -> Plan:
    read = read_options(options.source)
    settings = _settings(options, read)
    before = {"dateFolders": "day", **manifest.settings}  # older manifests lack dateFolders
    if manifest is not EMPTY and before != settings:
        name = min(key for key in settings if settings[key] != before.get(key))
        raise DumpRefused(
            f"{options.out} was dumped with {name}={before.get(name)}, but {settings[name]} was requested: "
            "all runs of a dump must use the same settings"
        )
    origin = origin_of(read)
    ids = topic_ids(read, {topic for topic, _ in origin.partitions()})
    covered, losses = new_offsets(origin, read, manifest, ids)
    return Plan(read, covered, losses, manifest)


def _settings(options: DumpOptions, read: ReadOptions) -> dict[str, str]:
    flags = {
        "includeHeaders": read.include_headers,
        "includeBatch": read.include_batch,
        "includeControl": read.include_control,
    }
    texts = {
        "format": options.shape.format,
        "dateFolders": options.shape.date_folders,
        "isolationLevel": read.isolation_level,
    }
    return texts | {name: str(flag).lower() for name, flag in flags.items()}


def records(spark: SparkSession, options: DumpOptions, found: Plan) -> DataFrame:
    """Return the records of a plan. The offset options of the source are set to exactly the offsets of the plan."""
    busy = [part for part in found.covered if part.end > part.start]
    assign: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for part in busy:
        assign.setdefault(part.topic, []).append(part.partition)
        starts.setdefault(part.topic, {})[str(part.partition)] = part.start
        ends.setdefault(part.topic, {})[str(part.partition)] = part.end
    reader = spark.read.format(FORMAT).options(
        **{name: text for name, text in options.source.items() if name.lower() not in _REPLACED},
        assign=json.dumps(assign),
        startingOffsets=json.dumps(starts),
        endingOffsets=json.dumps(ends),
    )
    return reader.load(list(found.read.paths)) if found.read.paths else reader.load()


def _write(
    spark: SparkSession, options: DumpOptions, found: Plan, merging: Callable[[int, int], None]
) -> list[WrittenFile]:
    """Write the files of the run, and merge small ones. Return the resulting files."""
    if all(part.end == part.start for part in found.covered):
        return []
    table = records(spark, options, found)
    try:
        files = write(with_lines(table) if options.shape.format == "jsonl" else table, options.out, options.shape)
        return merged(spark, options.out, files, options.shape, merging)
    except BaseException:
        clear_staging(options.out)
        raise


def _file(written: WrittenFile, number: int, shape: DumpShape) -> File:
    folder = shape.folder(written.topic, written.partition, written.date)
    name = f"{written.first_offset:020}-{written.last_offset:020}.{number:06}{shape.suffix}"
    return File(
        written.staged,
        f"{folder}/{name}",
        written.topic,
        written.partition,
        written.first_offset,
        written.last_offset,
        written.records,
        written.size_bytes,
    )


@contextmanager
def _alone(out: str) -> Iterator[None]:
    """Lock the directory against other runs. The lock is released when the process exits, even if it is killed."""
    with open(os.path.join(out, LOCK), "w", encoding="utf-8") as file:
        try:
            lock(file.fileno())
        except (BlockingIOError, PermissionError) as error:
            raise DumpRefused(f"another dump into {out} is running") from error
        yield
