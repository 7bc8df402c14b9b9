"""Let kafkalet clean the logs that Apache Kafka cleaned, at the same time of the clock, and compare files and
responses.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from kafkalet.broker.config.release import Release
from kafkalet.clock import ManualClock
from kafkalet.formats import offsets_bytes, parse_offsets
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.cleaning.cleaner import CleanerSettings
from kafkalet.storage.cleaning.log_cleaner import LogCleaner
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from kafkalet.storage.lookup import find
from kafkalet.storage.values import Isolation
from kafkalet.tasks.task import finish
from tests.unit.storage.place import content

from .rounds import Case, Round, differences, read_files, segments, summary, write_files

SETTINGS = CleanerSettings(dedupe_buffer_bytes=2 << 20)
TOPIC = "t"


def compare(case: Case, path: Path) -> list[str]:
    """Replay the rounds of a case below `path`. Return the differences, one line each."""
    found = []
    for number, each in enumerate(case.rounds):
        directory = path / f"{case}-{number}"
        found += [f"{case} round {number}{line}" for line in compare_round(each, case.release, directory)]
        shutil.rmtree(directory)
    return found


def compare_round(done: Round, release: str, path: Path) -> list[str]:
    """Clean the same log as Apache Kafka, in a new directory. Return the differences, one line each."""
    prepare(done, path)
    clock = ManualClock(done.cleaned_at_ms)
    directory = LogDirectory(str(path), clock, durable=False)
    try:
        config = LogConfig.of(done.config, Release.of(release).log_rules)
        log = directory.get_or_create(TOPIC, 0, None, config)
        log.maybe_increment_high_watermark(log.log_end_offset)
        clean(directory, clock.now_ms())
        answers = answer(log, done)
    finally:
        directory.close()
    after = read_files(path / f"{TOPIC}-0")
    kafka: dict[str, Any] = {"answers": done.answers, "dirty": done.dirty_after, "files": summary(done.after)}
    checkpoint = path / "cleaner-offset-checkpoint"
    dirty = parse_offsets(checkpoint.read_bytes()).get((TOPIC, 0)) if checkpoint.exists() else None
    return differences(kafka, {"answers": answers, "dirty": dirty, "files": summary(after)})


def prepare(done: Round, path: Path) -> None:
    """Write a directory with the files as they were before the cleaning. Only the active segment is recovered."""
    write_files(done.before, path / f"{TOPIC}-0")
    key = TOPIC, 0
    active = int(segments(done.before)[-1])
    for name, offsets in (
        ("recovery-point-offset-checkpoint", {key: active}),
        ("replication-offset-checkpoint", {key: done.high_watermark}),
        ("log-start-offset-checkpoint", {key: done.log_start_offset}),
        ("cleaner-offset-checkpoint", {} if done.dirty is None else {key: done.dirty}),
    ):
        (path / name).write_bytes(offsets_bytes(offsets))


def clean(directory: LogDirectory, now_ms: int) -> None:
    """Clean and delete old segments until nothing changes anymore, like the cleaner's thread."""
    cleaner = LogCleaner(lambda: list(directory.logs.values()), directory.environment.cleaning)
    while True:
        done = finish(cleaner.clean_filthiest(SETTINGS, now_ms))
        if not cleaner.delete_old_segments() and done is None:
            return


def answer(log: Log, done: Round) -> dict[str, Any]:
    """Return the responses to the requests that `tests.oracle.cleaning.kafka` sends to Apache Kafka."""
    answers: dict[str, Any] = {
        "start": log.log_start_offset,
        "end": log.high_watermark,
        "stable": log.last_stable_offset,
        "times": {timestamp: _by_time(log, int(timestamp)) for timestamp in done.answers["times"]},
    }
    for level, isolation in enumerate((Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE)):
        answers[f"fetched {level}"] = _fetched(log, isolation)
    return answers


def _by_time(log: Log, timestamp: int) -> list[int]:
    try:
        found = finish(find(log, timestamp))
    except KafkaError as error:
        return [error.code, -1, -1]
    return [0, -1, -1] if found is None else [0, found.offset, found.timestamp]


def _fetched(log: Log, isolation: Isolation) -> list[Any]:
    found = []
    at = log.log_start_offset
    while at < log.high_watermark:
        read = log.read(at, 1500, isolation, True)
        whole = list(batches(content(read)))
        if not whole:
            break
        ranges = [[each.base_offset, each.last_offset, _count(each)] for each in whole]
        aborted = sorted([each.producer_id, each.first_offset] for each in read.aborted or [])
        found.append([at, ranges, aborted])
        at = ranges[-1][1] + 1
    return found


def _count(batch: Any) -> int:
    return len(batch.records())
