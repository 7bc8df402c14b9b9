"""`kafkalet.pipeline.commands.running`: what a command has around it."""

import io
from typing import TYPE_CHECKING

import pytest

from kafkalet.pipeline.commands.running import Running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_results_are_lines() -> None:
    output = io.StringIO()
    running = Running(output=output)
    running.say("one")
    running.say("two\n")
    assert output.getvalue() == "one\ntwo\n"


def test_nothing_is_started_that_nobody_asks_for() -> None:
    Running().close()


def test_a_session_of_somebody_else_is_used_and_left_running(spark: "SparkSession") -> None:
    running = Running(spark=spark)
    assert running.spark is spark
    running.close()
    assert spark.range(3).count() == 3


def test_a_session_that_runs_already_is_found_and_left_running(spark: "SparkSession") -> None:
    running = Running()
    assert running.spark is spark
    running.close()
    assert spark.range(3).count() == 3


def test_progress_is_of_what_is_started_meanwhile(spark: "SparkSession") -> None:
    with Running(spark=spark, progress="none").progress("count") as progress:
        spark.range(0, 10, 1, 2).count()
        assert progress.look()
    assert progress.pace.last.tasks >= 2
