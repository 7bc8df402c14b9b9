"""Tests of exceptions as HTTP responses."""

import pytest

from kafkalet.control.failures import CONFLICTS, ERROR, MISSING, Failure, Refusal, failure_of
from kafkalet.control.shapes import Malformed
from kafkalet.protocol.errors import Code, KafkaError


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Malformed("n is missing"), Failure(400, "bad_request", "n is missing")),
        (Refusal(403, "no"), Failure(403, "forbidden", "no")),
        (KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "gone"), Failure(404, "UNKNOWN_TOPIC_OR_PARTITION", "gone")),
        (KafkaError(Code.TOPIC_ALREADY_EXISTS, "is there"), Failure(409, "TOPIC_ALREADY_EXISTS", "is there")),
        (KafkaError(Code.INVALID_CONFIG), Failure(422, "INVALID_CONFIG", "INVALID_CONFIG")),
        (ValueError("n is 0"), Failure(422, "invalid_argument", "n is 0")),
        (RuntimeError("broker 1 is stopped"), Failure(409, "conflict", "broker 1 is stopped")),
    ],
)
def test_exception_has_a_response(error: Exception, expected: Failure) -> None:
    assert failure_of(error) == expected
    ERROR.check(expected.json(), "the error")


def test_response_to_a_wait_that_timed_out_has_its_message() -> None:
    assert failure_of(AssertionError("no record"), waits=True) == Failure(408, "timeout", "no record")


@pytest.mark.parametrize(
    "error", [AssertionError("x"), TypeError("x"), KeyError("x"), RecursionError("x"), OSError("x")]
)
def test_unexpected_exception_returns_500_and_is_logged(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    failure = failure_of(error)
    assert (failure.status, failure.code) == (500, "internal")
    assert failure.message.startswith(type(error).__name__)
    [record] = caplog.records
    assert record.exc_info is not None


def test_request_to_brokers_that_have_stopped_is_unavailable() -> None:
    assert failure_of(RuntimeError("x"), is_running=False).status == 503


def test_no_code_is_both_missing_and_a_conflict() -> None:
    assert not MISSING & CONFLICTS
