"""The environment of a running command: its Spark session, its output and its progress."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from kafkalet.clock import Clock, SystemClock
from kafkalet_spark.progress import ExpectedWork, Progress, SparkStatus, style_of
from kafkalet_spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Running:
    """The environment of one command. An existing Spark session is used but not stopped."""

    def __init__(
        self,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        progress: str = "none",
        spark: SparkSession | None = None,
        output: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self._master = master
        self._conf = conf
        self._progress = progress
        self._spark = spark
        self._is_ours = False
        self._output = output

    @property
    def spark(self) -> SparkSession:
        """The Spark session, which is started on first use. Raises SparkMissing."""
        if self._spark is None:
            from pyspark.sql import SparkSession

            self._is_ours = SparkSession.getActiveSession() is None
            self._spark = spark_session(self._master, conf=self._conf)
        return self._spark

    def progress(self, what: str, expected: ExpectedWork = ExpectedWork()) -> Progress:  # noqa: B008 - an immutable value
        """Return a context manager that reports the progress of the jobs that this thread starts within it."""
        status = SparkStatus(self.spark, f"kafkalet-spark {what}")
        return Progress(status, what, style_of(self._progress, sys.stderr), expected, clock=self.clock)

    def say(self, text: str) -> None:
        """Write a result to stdout."""
        output = self._output if self._output is not None else sys.stdout
        output.write(text if text.endswith("\n") else text + "\n")
        output.flush()

    def close(self) -> None:
        """Stop the session if it was started here."""
        if self._is_ours and self._spark is not None:
            self._spark.stop()
