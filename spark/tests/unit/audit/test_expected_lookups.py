"""Expected ListOffsets results equal those of the storage's own search, for timestamps in any order."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.storage.lookup import MAX_TIMESTAMP, find
from kafkalet.tasks.task import finish
from kafkalet_spark.audit.audit_tasks import begin, tasks_of
from kafkalet_spark.audit.expected_lookups import NOTHING, Answers, LogPlace, search, whole_log
from kafkalet_spark.logs.directory import PartitionLog
from spark.tests.unit.logs.made import T0, Made
from tests.profile import examples

from .audited import batch, fill, write_log


def answers_of(log: PartitionLog, queries: np.ndarray, max_bytes: int = 1 << 30, before: int | None = None) -> Answers:
    tasks = tasks_of([begin(log, before)], max_bytes)
    return whole_log([(task.stretch, search(task.stretch, queries, 300)) for task in tasks], queries)


def same_as_the_log(made: Made, max_bytes: int = 1 << 30) -> None:
    log = made.seen()
    queries = np.unique(np.array([T0 + by for by in range(-3, 460)] + [0, 1 << 62]))
    answers = answers_of(log, queries, max_bytes)
    for timestamp, answer in zip(queries.tolist(), answers.each(), strict=True):
        wanted = finish(find(made.log, timestamp))
        assert answer == (
            LogPlace() if wanted is None else LogPlace(wanted.offset, wanted.timestamp, wanted.leader_epoch)
        )
    largest = finish(find(made.log, MAX_TIMESTAMP))
    assert largest is not None
    assert answers.largest[:2] == (largest.offset, largest.timestamp)


@pytest.mark.parametrize("max_bytes", [300, 1 << 30])
@pytest.mark.parametrize("start", [0, 1, 5, 20, 60])
def test_results_equal_those_of_the_log(tmp_path: Path, start: int, max_bytes: int) -> None:
    made = Made(tmp_path)
    fill(made)
    made.delete_until(start)
    same_as_the_log(made, max_bytes)
    made.close()


@pytest.mark.slow
@settings(max_examples=examples(0.3))
@given(st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=5), min_size=1, max_size=25), st.integers(0, 30))
def test_results_equal_those_of_the_log_for_any_timestamps(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], start: int
) -> None:
    made = Made(tmp_path_factory.mktemp("asked"))
    for times in batches:
        made.append(*times, value=b"v" * 90)
    made.delete_until(min(start, made.log.log_end_offset))
    same_as_the_log(made)
    made.close()


def test_lookup_with_log_append_time_finds_first_record_of_batch(tmp_path: Path) -> None:
    made = Made(tmp_path)
    for at in range(0, 50, 5):
        made.append_time(at, at + 4, at + 2)
    same_as_the_log(made)
    made.close()


def test_later_appends_are_ignored(tmp_path: Path) -> None:
    made = Made(tmp_path)
    for at in range(10):
        made.append(at)
    answers = answers_of(made.seen(), np.array([T0 + 4, T0 + 5]), before=5)
    made.close()
    assert [answer.offset for answer in answers.each()] == [4, NOTHING]
    assert answers.largest[:2] == (4, T0 + 4)


def test_segment_without_timestamps_hides_older_records_in_later_segments(tmp_path: Path) -> None:
    """Kafka uses the modification time of the file."""
    directory = write_log(tmp_path, (0, [batch(0)]), (2, []), (4, [batch(4), batch(6)]))
    from kafkalet_spark.logs.directory import open_partition

    os.utime(directory / f"{2:020d}.log", ns=((T0 + 5) * 1_000_000,) * 2)
    answers = answers_of(open_partition(str(directory)), np.array([T0 + by for by in (1, 2, 5, 6)]))
    assert [answer.offset for answer in answers.each()] == [1, NOTHING, NOTHING, 6]


def test_empty_log_has_no_results(tmp_path: Path) -> None:
    from kafkalet_spark.logs.directory import open_partition

    answers = answers_of(open_partition(str(write_log(tmp_path, (0, [])))), np.array([0, 5]))
    assert answers.is_none.all()
    assert answers.largest.offset == NOTHING
