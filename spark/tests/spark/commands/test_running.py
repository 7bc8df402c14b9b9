"""`kafkalet_spark.commands.running`: the environment of a command."""

import io
from typing import TYPE_CHECKING

from kafkalet_spark.commands.running import Running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_results_are_lines() -> None:
    output = io.StringIO()
    running = Running(output=output)
    running.say("one")
    running.say("two\n")
    assert output.getvalue() == "one\ntwo\n"


def test_session_is_started_only_on_use() -> None:
    Running().close()


def test_session_of_the_caller_is_used_and_not_stopped(spark: "SparkSession") -> None:
    running = Running(spark=spark)
    assert running.spark is spark
    running.close()
    assert spark.range(3).count() == 3


def test_active_session_is_used_and_not_stopped(spark: "SparkSession") -> None:
    running = Running()
    assert running.spark is spark
    running.close()
    assert spark.range(3).count() == 3


def test_progress_is_about_jobs_started_in_its_context(spark: "SparkSession") -> None:
    with Running(spark=spark, progress="none").progress("count") as progress:
        spark.range(0, 10, 1, 2).count()
        assert progress.show_sample()
    assert progress.pace.last.tasks >= 2
