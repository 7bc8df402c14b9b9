"""Extract the reason for a failed Spark job, in one line.

Spark wraps errors: an exception in a Python worker arrives as a traceback in the message of a Java exception, and a
Java exception arrives as a chain of causes. The first line that py4j shows, "An error occurred while calling
o380.save", is useless. The reason is the first of the following that exists:

* the last exception raised in a Python worker, without the class name if it is a class of kafkalet or kafkalet_spark;
* the message of the deepest cause with a Spark error class ("[FAILED_READ_FILE.NO_HINT] ...");
* the message of the deepest cause that has a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_TRACEBACK = "Traceback (most recent call last):"
_CAUSE = re.compile(r"^(?:Caused by: |: )(?P<name>[\w.$]+(?:Exception|Error|Throwable)\w*)(?:: (?P<message>.*))?$")
_JAVA_NAME = re.compile(r"^(?:[a-z]\w*\.)+[\w$]+: ")
_SQL_STATE = re.compile(r" SQLSTATE: \w{5}$")


class JobFailed(Exception):
    """A Spark job failed. The message is the reason in one line; the cause is the exception that Spark raised."""


@contextmanager
def job_failures() -> Iterator[None]:
    """Convert Spark exceptions to JobFailed. Other exceptions pass unchanged."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise JobFailed(reason_of(error)) from error


def reason_of(error: BaseException) -> str:
    """Return the reason for an exception in one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = str(error)
    if raised := _raised_in_python(text):
        return raised
    if caused := _caused_in_java(text):
        return caused
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _raised_in_python(text: str) -> str:
    """Return the last line of the last traceback in the text."""
    _, found, traceback = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    # Stack frames are indented; the first unindented line contains the exception class and message.
    raised = next((line for line in traceback.splitlines() if line[:1].strip()), "")
    name, _, said = raised.partition(": ")
    if not said:
        return ""
    return said if name.startswith(("kafkalet.", "kafkalet_spark.")) else raised


def _caused_in_java(text: str) -> str:
    causes = [found for line in text.splitlines() if (found := _CAUSE.match(line))]
    messages = [found["message"].strip() for found in causes if found["message"]]
    classed = [message[at:] for message in messages if (at := _error_class(message)) is not None]
    chosen = (classed or messages or [""])[-1]
    return _SQL_STATE.sub("", _JAVA_NAME.sub("", chosen))


def _error_class(message: str) -> int | None:
    """Return the index of a Spark error class in the message, or None."""
    found = re.search(r"\[[A-Z][A-Z0-9_.]+\] ", message)
    return found.start() if found else None
