"""`kafkalet_spark.progress`: the progress display of a job, and its data."""

import io
import logging
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.clock import ManualClock
from kafkalet_spark.progress import (
    LOOK_EVERY_MS,
    ExpectedWork,
    Pace,
    Progress,
    Sample,
    SparkStatus,
    _number,
    bar,
    duration,
    line,
    style_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class FakeStatus:
    """A status with prepared values, which counts its calls."""

    def __init__(self, *samples: Sample | None) -> None:
        self.left = list(samples)
        self.asked = threading.Event()
        self.is_closed = False
        self.restarts = 0

    def sample(self) -> Sample | None:
        found = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        self.asked.set()
        return found

    def restart(self) -> None:
        self.restarts += 1

    def close(self) -> None:
        self.is_closed = True


def paced(*samples: tuple[int, Sample], expected: ExpectedWork = ExpectedWork()) -> Pace:  # noqa: B008
    pace = Pace(expected, 0)
    for at_ms, each in samples:
        pace.add(each, at_ms)
    return pace


def test_rates_cover_the_last_seconds() -> None:
    pace = paced((1_000, Sample(0, 4, 1_000)), (11_000, Sample(1, 4, 2_000)), (21_000, Sample(2, 4, 102_000)))
    assert pace.records_per_second == 10_000


def test_fraction_is_by_records_if_total_is_known_else_by_tasks() -> None:
    assert paced((1, Sample(1, 4, 300)), expected=ExpectedWork(records=1000, tasks=4)).part == 0.3
    assert paced((1, Sample(1, 4, 300)), expected=ExpectedWork(tasks=4)).part == 0.25
    assert paced((1, Sample(0, 0, 0)), expected=ExpectedWork(records=1000)).part == 0


def test_fraction_is_unknown_without_total() -> None:
    pace = paced((1000, Sample(1, 2, 300)), (2000, Sample(3, 13, 600)), expected=ExpectedWork(size_bytes=1 << 30))
    assert pace.part is None
    assert pace.left_ms is None
    assert line("load", pace) == "load: 3 tasks, 600 records, 300/s"
    assert bar("load", pace, 120) == "load 3 tasks  600 records  300/s"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))), st.integers(0, 20))
def test_total_of_tasks_is_constant_during_a_job(seen: list[tuple[int, int]], tasks: int) -> None:
    pace = Pace(ExpectedWork(tasks=tasks), 0)
    for at_ms, (done, known) in enumerate(seen):
        pace.add(Sample(done, known, 0), at_ms)
        shown = line("dump", pace).partition(" tasks")[0].removeprefix("dump: ")
        assert shown == (f"{min(done, tasks)}/{tasks}" if tasks else str(done))


def test_fraction_is_one_if_records_exceed_expectation() -> None:
    assert paced((1, Sample(1, 4, 3000)), expected=ExpectedWork(records=1000)).part == 1


def test_bytes_are_a_fraction_of_the_planned_bytes() -> None:
    pace = paced((10_000, Sample(1, 4, 0)), expected=ExpectedWork(size_bytes=400_000_000, tasks=4))
    assert pace.size_bytes == 100_000_000
    assert pace.bytes_per_second == 10_000_000


def test_remaining_time_is_extrapolated() -> None:
    assert paced((30_000, Sample(1, 4, 0)), expected=ExpectedWork(tasks=4)).left_ms == 90_000
    assert paced((30_000, Sample(0, 4, 0)), expected=ExpectedWork(tasks=4)).left_ms is None


def test_restarted_query_has_no_negative_rate() -> None:
    assert paced((1_000, Sample(0, 4, 900)), (2_000, Sample(0, 4, 10))).records_per_second == 5


def test_line_has_tasks_records_bytes_and_remaining_time() -> None:
    pace = paced((10_000, Sample(1, 4, 2_500_000)), expected=ExpectedWork(10_000_000, 4_000_000_000, 4))
    text = "dump: 1/4 tasks, 2,500,000 records, 250,000/s, 100.0 MB/s, 0:30 left"
    assert line("dump", pace) == text


def test_bar_is_filled_by_fraction_done() -> None:
    two = ExpectedWork(tasks=2)
    half = paced((1000, Sample(1, 2, 0)), expected=two)
    assert bar("dump", half, 120) == "dump [############------------] 1/2 tasks  0:01 left"
    assert bar("dump", paced((1000, Sample(2, 2, 0)), expected=two), 80) == "dump [############] 2/2 tasks"


@pytest.mark.parametrize("columns", [0, 1, 20, 79, 200])
def test_bar_is_narrower_than_the_terminal(columns: int) -> None:
    pace = paced((1000, Sample(1, 2, 5_000_000)), expected=ExpectedWork(10_000_000, 1 << 40))
    assert len(bar("dump", pace, columns)) <= max(columns - 1, 0)


@pytest.mark.parametrize(
    ("time_ms", "text"), [(0, "0:00"), (7_400, "0:07"), (761_000, "12:41"), (10_975_000, "3:02:55")]
)
def test_durations_are_formatted_in_hours_minutes_and_seconds(time_ms: int, text: str) -> None:
    assert duration(time_ms) == text


def test_auto_shows_bar_on_terminal_and_lines_elsewhere() -> None:
    assert style_of("auto", Terminal()) == "bar"
    assert style_of("auto", io.StringIO()) == "lines"
    assert [style_of(choice, io.StringIO()) for choice in ("bar", "lines", "none")] == ["bar", "lines", "none"]


def test_bar_is_redrawn_and_removed_at_the_end() -> None:
    terminal = Terminal()
    status, clock = FakeStatus(Sample(1, 2, 0)), ManualClock()
    with Progress(status, "dump", "bar", ExpectedWork(tasks=2), stream=terminal, clock=clock) as progress:
        progress.show_sample()
        progress.show_sample()
    shown = terminal.getvalue()
    assert shown.count("\rdump [") == 2
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


def test_lines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalet_spark")
    clock = ManualClock()
    status = FakeStatus(Sample(1, 2, 50))
    with Progress(status, "dump", "lines", ExpectedWork(tasks=2), stream=io.StringIO(), clock=clock) as progress:
        clock.advance(milliseconds=1000)
        progress.show_sample()
    assert caplog.messages == ["dump: 1/2 tasks, 50 records, 50/s, 0:01 left"]


def test_next_phase_has_its_own_name_and_totals(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalet_spark")
    clock, status = ManualClock(), FakeStatus(Sample(2, 2, 0), Sample(1, 5, 0))
    progress = Progress(status, "dump", "lines", ExpectedWork(tasks=2), stream=io.StringIO(), clock=clock)
    progress.show_sample()
    progress.begin("merge", ExpectedWork(tasks=5))
    clock.advance(milliseconds=1000)
    progress.show_sample()
    assert caplog.messages == ["dump: 2/2 tasks", "merge: 1/5 tasks, 0:04 left"]
    assert status.restarts == 1


def test_nothing_is_shown_before_there_are_tasks() -> None:
    terminal = Terminal()
    progress = Progress(FakeStatus(Sample(0, 0, 0)), "dump", "bar", stream=terminal, clock=ManualClock())
    assert progress.show_sample()
    assert terminal.getvalue() == ""


def test_no_thread_is_started_with_none() -> None:
    before, status = threading.active_count(), FakeStatus(Sample(1, 2, 0))
    with Progress(status, "dump", "none"):
        assert threading.active_count() == before
    assert status.is_closed


@pytest.mark.parametrize("answer", [Sample(1, 2, 0), None])
def test_thread_polls_and_ends(monkeypatch: pytest.MonkeyPatch, answer: Sample | None) -> None:
    monkeypatch.setitem(LOOK_EVERY_MS, "bar", 1)
    status, before = FakeStatus(answer), threading.active_count()
    with Progress(status, "dump", "bar", stream=Terminal()):
        assert status.asked.wait(10)
    assert threading.active_count() == before


def test_closed_terminal_does_not_end_the_job() -> None:
    terminal = Terminal()
    with Progress(FakeStatus(Sample(1, 2, 0)), "dump", "bar", stream=terminal) as progress:
        terminal.close()
        assert progress.show_sample()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("1,234,567", 1234567),
        ("total (min, med, max (stageId: taskId))\n1,200 (1, 2, 3 (stage 0.0: task 1))", 1200),
    ],
)
def test_metric_text_is_parsed(text: str, number: int) -> None:
    assert _number(text) == number


def test_spark_reports_tasks_and_records_of_a_job(spark: "SparkSession") -> None:
    status = SparkStatus(spark, "counting")
    assert status.sample() == Sample(0, 0, 0)
    spark.range(0, 1000, 1, 4).selectExpr("id * 2 as twice").where("twice % 3 = 0").collect()
    sample = status.sample()
    assert sample is not None
    assert (sample.done, sample.tasks) == (4, 4)
    assert sample.records == 1000
    status.restart()
    assert status.sample() == Sample(0, 0, 0)
    assert SparkStatus(spark, "the next").sample() == Sample(0, 0, 0)


def test_job_group_is_reset_afterwards(spark: "SparkSession") -> None:
    status = SparkStatus(spark, "counting")
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == status._group
    status.close()
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
