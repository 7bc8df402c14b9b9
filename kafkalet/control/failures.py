"""Exceptions as HTTP responses: the status, and the JSON that says what happened.

The `code` of an error is the name of a Kafka error, in capitals, or one of HTTP_CODES.
"""

import logging
from http import HTTPStatus
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

from .shapes import Field, Json, Malformed, Object, Text

_LOG = logging.getLogger(__name__)

HTTP_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_argument",
    500: "internal",
    503: "unavailable",
}
"""The codes of errors that are not Kafka errors, keyed by HTTP status."""

MISSING = {
    Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.UNKNOWN_TOPIC_ID,
    Code.UNKNOWN_MEMBER_ID,
    Code.GROUP_ID_NOT_FOUND,
    Code.TRANSACTIONAL_ID_NOT_FOUND,
}
CONFLICTS = {
    Code.TOPIC_ALREADY_EXISTS,
    Code.LEADER_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.BROKER_NOT_AVAILABLE,
    Code.REPLICA_NOT_AVAILABLE,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_COORDINATOR,
    Code.NOT_ENOUGH_REPLICAS,
    Code.NON_EMPTY_GROUP,
    Code.GROUP_SUBSCRIBED_TO_TOPIC,
    Code.REBALANCE_IN_PROGRESS,
    Code.CONCURRENT_TRANSACTIONS,
    Code.INVALID_TXN_STATE,
    Code.INVALID_PRODUCER_EPOCH,
    Code.PRODUCER_FENCED,
    Code.PREFERRED_LEADER_NOT_AVAILABLE,
    Code.ELECTION_NOT_NEEDED,
    Code.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    Code.KAFKA_STORAGE_ERROR,
}


class Refusal(Exception):
    """A request fails with an HTTP error."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code or HTTP_CODES[status]


class Failure(NamedTuple):
    """The response to a failed request."""

    status: int
    code: str
    message: str

    def json(self) -> Json:
        return {"error": {"code": self.code, "message": self.message}}


ERROR = Object(
    "Error",
    "The response to a request that failed.",
    Field(
        "error",
        Object(
            "ErrorDetails",
            "What happened.",
            Field(
                "code",
                Text(),
                "The name of a Kafka error in capitals, as in `UNKNOWN_TOPIC_OR_PARTITION`, or one of "
                f"{', '.join(f'`{code}`' for code in HTTP_CODES.values())}.",
            ),
            Field("message", Text(), "What happened, and what is allowed."),
        ),
        "What happened.",
    ),
)


def failure_of(error: Exception, *, waits: bool = False, is_running: bool = True) -> Failure:
    """Return the response to an exception of a handler. Unexpected exceptions, which are bugs of kafkalet, are logged.

    `waits` is true if the operation waits, so that an AssertionError means a timeout. `is_running` tells whether the
    brokers are running.
    """
    if isinstance(error, Refusal):
        return Failure(error.status, error.code, error.message)
    if isinstance(error, Malformed):
        return Failure(400, HTTP_CODES[400], str(error))
    if isinstance(error, KafkaError):
        status = 404 if error.code in MISSING else 409 if error.code in CONFLICTS else 422
        return Failure(status, error.code.name, str(error).removeprefix(f"{error.code.name}: "))
    if isinstance(error, AssertionError) and waits:
        return Failure(408, HTTP_CODES[408], str(error))
    if not is_running:
        return Failure(503, HTTP_CODES[503], "the brokers are not running")
    if isinstance(error, ValueError):
        return Failure(422, HTTP_CODES[422], str(error))
    if isinstance(error, RuntimeError) and not isinstance(error, RecursionError | NotImplementedError):
        return Failure(409, HTTP_CODES[409], str(error))
    _LOG.error("a request of the control API failed", exc_info=error)
    return Failure(500, HTTP_CODES[500], f"{type(error).__name__}: {error}; kafkalet's log has the traceback")


def reason(status: int) -> str:
    """Return the reason phrase of an HTTP status."""
    return HTTPStatus(status).phrase
