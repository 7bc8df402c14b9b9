"""How far a job is: a bar on a terminal, a line in the log every few seconds elsewhere.

The numbers are Spark's. Its status tracker knows how many tasks have ended. The records are the metric "number of
output rows" of the query that runs, the largest one in its plan, which is that of the scan; Spark renews it with every
heartbeat of an executor, so it moves while a task still runs.

    dump [#########---------------] 12/32 tasks  48,210,331 records  1,204,771/s  131.2 MB/s  0:41 left

Totals come from the plan of the job and do not change while it runs. Spark knows of a stage only when the one before
it is done, so its own number of tasks grows. Where the plan does not know a total, none is shown, and neither is what
follows from it: how full the bar is, bytes, and the time that is left.

    load 7 tasks  1,204,771 records  310,422/s

Nothing in Spark counts the bytes of a Python data source: what is shown is the size that the plan found, times the part
of the job that is done.

The thread that looks is a daemon and asks only what Spark has in memory already; the job knows nothing of it.
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("kafkalet.pipeline")

Style = Literal["bar", "lines", "none"]
STYLES = ("auto", "bar", "lines", "none")
LOOK_EVERY_MS = {"bar": 500, "lines": 5_000}
RATE_OVER_MS = 10_000
"""A rate is that of the last seconds, so that it follows what happens; and not so few that it jumps."""

ROWS = "number of output rows"


class Seen(NamedTuple):
    """What Spark says of a job at one moment: tasks that ended, tasks of the stages it knows of so far, records."""

    done: int
    tasks: int
    records: int


class ExpectedWork(NamedTuple):
    """The totals of a job by its plan: records, bytes and tasks; 0 where the plan does not know."""

    records: int = 0
    size_bytes: int = 0
    tasks: int = 0


class Status(Protocol):
    """A source of Seen."""

    def seen(self) -> Seen | None:
        """None: it cannot be told any more."""
        ...

    def restart(self) -> None:
        """Begin a new phase: what has run so far is not counted any more."""
        ...

    def close(self) -> None:
        """Release what was needed to ask."""
        ...


class SparkStatus:
    """Spark's own word on the jobs of one group, and on the query that runs.

    The job group is a property of the thread that makes this object: what that thread starts is in it.
    """

    def __init__(self, spark: SparkSession, what: str) -> None:
        self._what = what
        self._context = spark.sparkContext
        self._tracker = self._context.statusTracker()
        self._queries = spark._jsparkSession.sharedState().statusStore()
        self.restart()

    def restart(self) -> None:
        self._group = f"kafkalet-{os.urandom(8).hex()}"
        self._context.setJobGroup(self._group, self._what)
        newest = self._newest()
        self._before = newest.executionId() if newest is not None else -1

    def seen(self) -> Seen | None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return Seen(*self._tasks(), self._records())
        except (Py4JError, PySparkException, OSError):  # the session has ended, or this Spark has no such store
            return None

    def close(self) -> None:
        """What the thread starts from now on is in no group."""
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
        """The newest query of this session, if there is one."""
        count = self._queries.executionsCount()
        return self._queries.executionsList(count - 1, 1).apply(0) if count else None

    def _records(self) -> int:
        """Of the newest query: a job may have one that only looks at its input, and then begin again."""
        newest = self._newest()
        return self._rows(newest) if newest is not None and newest.executionId() > self._before else 0

    def _rows(self, query: Any) -> int:
        metrics = query.metrics()
        wanted = {metrics.apply(at).accumulatorId() for at in range(metrics.size()) if metrics.apply(at).name() == ROWS}
        values = self._queries.executionMetrics(query.executionId())
        found = (values.get(number) for number in wanted)
        return max((_number(value.get()) for value in found if value.isDefined()), default=0)


def _number(text: str) -> int:
    """Of "1,234,567", as Spark shows a sum."""
    digits = "".join(character for character in text.split("\n")[-1].split(" (")[0] if character.isdigit())
    return int(digits or 0)


class Pace:
    """The rates of a job, the part of it that is done, and the time it will take: Seen compared with Expected."""

    def __init__(self, expected: ExpectedWork, now_ms: int) -> None:
        self.expected = expected
        self.began_ms = now_ms
        self._seen: deque[tuple[int, int, float]] = deque([(now_ms, 0, 0.0)])
        self.last = Seen(0, 0, 0)

    def add(self, seen: Seen, now_ms: int) -> None:
        self.last = seen
        while len(self._seen) > 1 and self._seen[1][0] <= now_ms - RATE_OVER_MS:
            self._seen.popleft()
        self._seen.append((now_ms, seen.records, self.part or 0.0))

    @property
    def part(self) -> float | None:
        """The part that is done, from 0 to 1: by records if their total is known, else by tasks; None for neither."""
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
        """The time that is left at the pace kept so far; None if nothing is done, or the part is not known."""
        now_ms, part = self._seen[-1][0], self.part
        return int((now_ms - self.began_ms) * (1 - part) / part) if part else None

    def _rate(self, column: Literal[1, 2]) -> float:
        first, last = self._seen[0], self._seen[-1]
        passed_ms = last[0] - first[0]
        gone = max(last[column] - first[column], 0)  # a new query counts from the beginning
        return gone * 1000 / passed_ms if passed_ms > 0 else 0.0


def bar(what: str, pace: Pace, columns: int) -> str:
    """One line for a terminal that is `columns` wide, never longer than that."""
    drawn = ""
    if pace.part is not None:
        cells = 24 if columns >= 100 else 12
        full = int(pace.part * cells)
        drawn = f"[{'#' * full}{'-' * (cells - full)}] "
    return f"{what} {drawn}{'  '.join(_facts(pace))}"[: max(columns - 1, 0)]


def line(what: str, pace: Pace) -> str:
    """One line for a log."""
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
    """0:07, 12:41, 3:02:55."""
    minutes, seconds = divmod(round(time_ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def style_of(choice: str, stream: TextIO) -> Style:
    """What `auto` means for this stream; the other choices mean themselves."""
    if choice == "auto":
        return "bar" if stream.isatty() else "lines"
    return "bar" if choice == "bar" else "lines" if choice == "lines" else "none"


class Progress:
    """Shows how far a job is for as long as a `with` lasts."""

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
        """Begin another phase of the job, with totals of its own. To be called by the thread that runs the job."""
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
            if not self.look():
                return

    def look(self) -> bool:
        """Ask once and show the answer; False if there is none to be had any more."""
        seen = self._status.seen()
        if seen is None:
            return False
        self.pace.add(seen, self._clock.now_ms())
        show: Callable[[], None] = self._draw if self._style == "bar" else self._log
        if seen.tasks:
            show()
        return True

    def _draw(self) -> None:
        with suppress(ValueError, OSError):  # the terminal is gone; the job goes on
            self._stream.write("\r" + bar(self._what, self.pace, shutil.get_terminal_size().columns) + "\x1b[K")
            self._stream.flush()

    def _log(self) -> None:
        _LOG.info("%s", line(self._what, self.pace))
