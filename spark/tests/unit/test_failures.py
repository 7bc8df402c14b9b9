"""The reason for a failed job is its root cause, in one line."""

import pytest
from pyspark.errors import AnalysisException

from kafkalet_spark.failures import JobFailed, job_failures, reason_of

TRACEBACK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/kafkalet_spark/source.py", line 115, in read
    return read_task(partition, self._options)
kafkalet_spark.reader.CorruptLog: /d/a-0/0.log cannot be read at position 5: bad checksum
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner
"""

JAVA = """An error occurred while calling o380.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed: java.io.IOException: lost
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:3000)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Error while reading a. SQLSTATE: KD001
\t... 12 more
Caused by: org.apache.spark.sql.Bad$Record: org.apache.spark.SparkException: nothing
Caused by: java.lang.RuntimeException: [MALFORMED_CSV_RECORD] Malformed CSV record: 2 SQLSTATE: KD000
Caused by: java.lang.NullPointerException
"""

WITHOUT_CLASS = """An error occurred while calling o1.load.
: java.lang.RuntimeException: java.net.ConnectException: Connection refused
\tat java.base/x
Caused by: java.net.ConnectException: Connection refused
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRACEBACK, "/d/a-0/0.log cannot be read at position 5: bad checksum"),
        (
            "Traceback (most recent call last):\n  File x\nOSError: [Errno 2] No such file",
            "OSError: [Errno 2] No such file",
        ),
        ("Traceback (most recent call last):\n  File x\nKeyError\n", "Traceback (most recent call last):"),
        (
            "\n[PATH_NOT_FOUND] Path does not exist: file:/x.csv.\nmore",
            "[PATH_NOT_FOUND] Path does not exist: file:/x.csv.",
        ),
        ("", "RuntimeError"),
        (JAVA, "[MALFORMED_CSV_RECORD] Malformed CSV record: 2"),
        (WITHOUT_CLASS, "Connection refused"),
    ],
)
def test_reason_is_the_last_exception(text: str, reason: str) -> None:
    assert reason_of(RuntimeError(text)) == reason


def test_missing_file_is_reported_as_in_other_commands() -> None:
    assert reason_of(FileNotFoundError(2, "No such file or directory", "/logs")) == "/logs: No such file or directory"


def test_spark_exception_becomes_a_job_failure_with_its_reason() -> None:
    with pytest.raises(JobFailed, match=r"bad checksum$") as raised, job_failures():
        raise AnalysisException(TRACEBACK)
    assert isinstance(raised.value.__cause__, AnalysisException)


def test_other_exceptions_pass_unchanged() -> None:
    with pytest.raises(KeyError), job_failures():
        raise KeyError("x")
