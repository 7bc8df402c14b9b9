"""Progress reports of a job: a bar on a terminal, otherwise a log line every few seconds.

The numbers come from Spark. Its status tracker counts completed tasks. The record count is the metric "number of output
rows" of the running query. Several nodes of its plan have this metric; the largest value is that of the scan. Executors
update the metric with every heartbeat, so it also changes while a task is running.

    dump [#########---------------] 12/32 tasks  48,210,331 records  1,204,771/s  131.2 MB/s  0:41 left

Totals come from the plan of the job and do not change while it runs. (Spark's own number of tasks grows, because it
does not know a stage until the previous one has completed.) If the totals are unknown, the bar, the bytes and the
remaining time are not shown.

    load 7 tasks  1,204,771 records  310,422/s

Spark does not count the bytes of a Python data source. The bytes shown are the planned size multiplied by the completed
fraction of the job.

A daemon thread polls data that Spark already holds in memory. The job itself is not affected.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TextIO

from kafkalet.clock import Clock, SystemClock

from .requirements import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("kafkalet_spark")

Style = Literal["bar", "lines", "none"]
STYLES = ("auto", "bar", "lines", "none")
LOOK_EVERY_MS = {"bar": 500, "lines": 5_000}
RATE_OVER_MS = 10_000
"""The window over which rates are averaged: short enough to follow changes, long enough to be steady."""

ROWS = "number of output rows"


class Sample(NamedTuple):
    """A sample of Spark's counters: completed tasks, tasks of all stages known so far, and records."""

    done: int
    tasks: int
    records: int


class ExpectedWork(NamedTuple):
    """The planned totals of a job: records, bytes and tasks; 0 if unknown."""

    records: int = 0
    size_bytes: int = 0
    tasks: int = 0


class Status(Protocol):
    """A source of samples."""

    def sample(self) -> Sample | None:
        """Return a sample, or None if no more samples are available."""
        ...

    def restart(self) -> None:
        """Begin a new phase, in which earlier work is not counted."""
        ...

    def close(self) -> None:
        """Release resources."""
        ...


class SparkStatus:
    """Samples the jobs of one Spark job group, and the newest query.

    The job group contains the jobs that are started by the thread that creates this object.
    """

    def __init__(self, spark: SparkSession, what: str) -> None:
        self._what = what
        self._context = context_of(spark)
        self._tracker = self._context.statusTracker()
        self._queries = spark._jsparkSession.sharedState().statusStore()
        self.restart()

    def restart(self) -> None:
        self._group = f"kafkalet-{os.urandom(8).hex()}"
        self._context.setJobGroup(self._group, self._what)
        newest = self._newest()
        self._before = newest.executionId() if newest is not None else -1

    def sample(self) -> Sample | None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return Sample(*self._tasks(), self._records())
        except (Py4JError, PySparkException, OSError):  # the session has ended, or this Spark has no such store
            return None

    def close(self) -> None:
        """Remove the thread from the job group."""
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            self._context.setLocalProperty(name, None)  # type: ignore[arg-type]

    def _tasks(self) -> tuple[int, int]:
        done = tasks = 0
        jobs = map(self._tracker.getJobInfo, self._tracker.getJobIdsForGroup(self._group))
        for stage in {stage for job in jobs if job is not None for stage in job.stageIds}:
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                tasks += info.numTasks
        return done, tasks

    def _newest(self) -> Any:
        """Return the newest query of this session, or None."""
        count = self._queries.executionsCount()
        return self._queries.executionsList(count - 1, 1).apply(0) if count else None

    def _records(self) -> int:
        """Return the records of the newest query. (A job may first run a short query that only samples its input.)"""
        newest = self._newest()
        return self._rows(newest) if newest is not None and newest.executionId() > self._before else 0

    def _rows(self, query: Any) -> int:
        metrics = query.metrics()
        wanted = {metrics.apply(at).accumulatorId() for at in range(metrics.size()) if metrics.apply(at).name() == ROWS}
        values = self._queries.executionMetrics(query.executionId())
        found = (values.get(number) for number in wanted)
        return max((_number(value.get()) for value in found if value.isDefined()), default=0)


def _number(text: str) -> int:
    """Parse a metric as Spark formats it, such as "1,234,567"."""
    digits = "".join(character for character in text.split("\n")[-1].split(" (")[0] if character.isdigit())
    return int(digits or 0)


class Pace:
    """Computes the rates, the completed fraction and the remaining time of a job from samples and planned totals."""

    def __init__(self, expected: ExpectedWork, now_ms: int) -> None:
        self.expected = expected
        self.began_ms = now_ms
        self._samples: deque[tuple[int, int, float]] = deque([(now_ms, 0, 0.0)])
        self.last = Sample(0, 0, 0)

    def add(self, sample: Sample, now_ms: int) -> None:
        self.last = sample
        while len(self._samples) > 1 and self._samples[1][0] <= now_ms - RATE_OVER_MS:
            self._samples.popleft()
        self._samples.append((now_ms, sample.records, self.part or 0.0))

    @property
    def part(self) -> float | None:
        """The completed fraction, 0 to 1, by records if their total is known, otherwise by tasks; None if unknown."""
        if self.expected.records and self.last.records:
            return min(self.last.records / self.expected.records, 1.0)
        if self.expected.tasks:
            return min(self.last.done / self.expected.tasks, 1.0)
        return 0.0 if self.expected.records else None

    @property
    def records_per_second(self) -> float:
        return self._rate(1)

    @property
    def bytes_per_second(self) -> float:
        return self._rate(2) * self.expected.size_bytes

    @property
    def size_bytes(self) -> int:
        return int((self.part or 0.0) * self.expected.size_bytes)

    @property
    def left_ms(self) -> int | None:
        """The remaining time at the average pace so far; None if unknown."""
        now_ms, part = self._samples[-1][0], self.part
        return int((now_ms - self.began_ms) * (1 - part) / part) if part else None

    def _rate(self, column: Literal[1, 2]) -> float:
        first, last = self._samples[0], self._samples[-1]
        passed_ms = last[0] - first[0]
        gone = max(last[column] - first[column], 0)  # the counter restarts at 0 for a new query
        return gone * 1000 / passed_ms if passed_ms > 0 else 0.0


def bar(what: str, pace: Pace, columns: int) -> str:
    """Format a line for a terminal, shorter than `columns` characters."""
    drawn = ""
    if pace.part is not None:
        cells = 24 if columns >= 100 else 12
        full = int(pace.part * cells)
        drawn = f"[{'#' * full}{'-' * (cells - full)}] "
    return f"{what} {drawn}{'  '.join(_facts(pace))}"[: max(columns - 1, 0)]


def line(what: str, pace: Pace) -> str:
    """Format a line for the log."""
    return f"{what}: {', '.join(_facts(pace))}"


def _facts(pace: Pace) -> list[str]:
    total = pace.expected.tasks
    facts = [f"{min(pace.last.done, total)}/{total} tasks" if total else f"{pace.last.done} tasks"]
    if pace.last.records:
        facts += [f"{pace.last.records:,} records", f"{pace.records_per_second:,.0f}/s"]
    if pace.expected.size_bytes and pace.part:
        facts.append(f"{pace.bytes_per_second / 1e6:,.1f} MB/s")
    if pace.left_ms is not None and pace.part != 1:
        facts.append(f"{duration(pace.left_ms)} left")
    return facts


def duration(time_ms: int) -> str:
    """Format a duration, such as 0:07, 12:41 or 3:02:55."""
    minutes, seconds = divmod(round(time_ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def style_of(choice: str, stream: TextIO) -> Style:
    """Resolve the style `auto` for this stream."""
    if choice == "auto":
        return "bar" if stream.isatty() else "lines"
    return "bar" if choice == "bar" else "lines" if choice == "lines" else "none"


class Progress:
    """A context manager that reports the progress of a job."""

    def __init__(
        self,
        status: Status,
        what: str,
        style: Style,
        expected: ExpectedWork = ExpectedWork(),  # noqa: B008 - an immutable value
        *,
        stream: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._status = status
        self._what = what
        self._style = style
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock or SystemClock()
        self.pace = Pace(expected, self._clock.now_ms())
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def expect(self, expected: ExpectedWork) -> None:
        """Set the totals, once the plan knows them."""
        self.pace.expected = expected

    def begin(self, what: str, expected: ExpectedWork) -> None:
        """Begin another phase of the job with new totals. Must be called by the thread that runs the job."""
        self._status.restart()
        self._what, self.pace = what, Pace(expected, self._clock.now_ms())

    def __enter__(self) -> Progress:
        if self._style != "none":
            self._thread = threading.Thread(target=self._watch, name="kafkalet-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            if self._style == "bar":
                with suppress(ValueError, OSError):
                    self._stream.write("\r\x1b[K")
                    self._stream.flush()
        self._status.close()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_EVERY_MS[self._style] / 1000):
            if not self.show_sample():
                return

    def show_sample(self) -> bool:
        """Take a sample and show it. Return False if no more samples are available."""
        sample = self._status.sample()
        if sample is None:
            return False
        self.pace.add(sample, self._clock.now_ms())
        show: Callable[[], None] = self._draw if self._style == "bar" else self._log
        if sample.tasks:
            show()
        return True

    def _draw(self) -> None:
        with suppress(ValueError, OSError):  # if the terminal is closed, the job continues
            self._stream.write("\r" + bar(self._what, self.pace, shutil.get_terminal_size().columns) + "\x1b[K")
            self._stream.flush()

    def _log(self) -> None:
        _LOG.info("%s", line(self._what, self.pace))
