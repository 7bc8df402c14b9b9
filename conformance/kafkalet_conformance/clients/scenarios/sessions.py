"""Fetch sessions (KIP-227), throttling (KIP-219), and errors of fetches."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kafkalet_conformance.clients.judges import all_of, consumed
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Stage

CATALOG = Catalog(role=Role.CONSUME)
scenario = CATALOG.scenario

THROTTLE_MS = 1000
UNKNOWN_ERROR = 9999


def _three_partitions(stage: Stage) -> None:
    stage.create_topic(partitions=3)
    for partition in range(3):
        stage.send(10, partition=partition)


def _session_error(error: str) -> Play:
    def play(stage: Stage) -> None:
        _three_partitions(stage)
        stage.fault("Fetch", error=error, times=1, when=lambda request: request.session_id > 0)
        stage.start()
        for partition in range(3):
            stage.wait_for_position(10, partition)
        for partition in range(3):
            stage.send(10, partition=partition)

    return play


for _error in ("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "FETCH_SESSION_TOPIC_ID_ERROR"):
    scenario(
        f"A consumer whose fetch session fails with {_error} sends a full fetch, and skips or repeats no record.",
        "KIP-227; FetchSessionHandler.handleResponse",
        name=f"consume-{_error.lower().replace('_', '-')}",
        judge=consumed(),
        count=60,
    )(_session_error(_error))


@scenario(
    "A consumer reads from a broker that gives it no fetch session.",
    "KIP-227: session id 0; max.incremental.fetch.session.cache.slots",
    judge=consumed(),
    count=30,
    config={"max.incremental.fetch.session.cache.slots": 0},
)
def consume_without_sessions(stage: Stage) -> None:
    _three_partitions(stage)


ERRORS = {
    "NOT_LEADER_OR_FOLLOWER": "the metadata is updated, and the fetch is sent again",
    "UNKNOWN_TOPIC_OR_PARTITION": "the metadata is updated, and the fetch is sent again",
    "REPLICA_NOT_AVAILABLE": "the metadata is updated, and the fetch is sent again",
    "KAFKA_STORAGE_ERROR": "the metadata is updated, and the fetch is sent again",
    "OFFSET_NOT_AVAILABLE": "the metadata is updated, and the fetch is sent again (KIP-392)",
    "FENCED_LEADER_EPOCH": "the metadata is updated, and the position is validated (KIP-320)",
    "UNKNOWN_LEADER_EPOCH": "the fetch is sent again until the broker has the new epoch (KIP-320)",
    "UNKNOWN_SERVER_ERROR": "the fetch is sent again",
}
"""Errors of partitions in Fetch responses, and what the Java client does (FetchCollector.handleInitializeErrors)."""


def _partition_error(error: str) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(20)
        stage.fault("Fetch", error=error, topic=stage.topic.name, times=3)

    return play


for _error, _why in ERRORS.items():
    scenario(
        f"A consumer that gets {_error} for a partition fetches again, and skips or repeats no record.",
        f"FetchCollector.handleInitializeErrors: {_why}",
        name=f"consume-{_error.lower().replace('_', '-')}",
        judge=consumed(),
    )(_partition_error(_error))


@scenario(
    "A consumer that gets an error code that it does not know fetches again, or reports an error.",
    "Errors.forCode: an unknown code means UNKNOWN_SERVER_ERROR, after which the fetch is sent again",
    judge=consumed(error="the client may report an error that it does not know"),
)
def consume_unknown_error(stage: Stage) -> None:
    def change(response: Any) -> bool:
        partitions = [partition for topic in response.responses for partition in topic.partitions]
        for partition in partitions:
            partition.error_code, partition.records, partition.high_watermark = UNKNOWN_ERROR, b"", -1
        return bool(partitions)

    stage.create_topic()
    stage.send(20)
    stage.rewrite("Fetch", change, times=1)


@scenario(
    "A consumer that is throttled skips and repeats no record.",
    "KIP-219; NetworkClient.maybeThrottle",
    judge=consumed(),
)
def consume_throttled(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)
    stage.fault("Fetch", throttle_ms=1500, times=1)


def _waited(stage: Stage) -> Iterator[Finding]:
    """Report a client that sends a request on a connection while it should wait."""
    for one, other in pairwise(stage.cluster.requests.filter("Fetch")):
        if (one.response or {}).get("throttle_time_ms") != THROTTLE_MS or one.connection != other.connection:
            continue
        gap_ms = other._exchange.began_s * 1000 - one._exchange.began_s * 1000 - one.duration_ms
        if gap_ms < 0.9 * THROTTLE_MS:
            yield Finding(
                Verdict.TOO_FAST,
                f"the client sent a Fetch {gap_ms:.0f} ms after a response with throttle_time_ms={THROTTLE_MS}; "
                "KIP-219 requires it to wait that long (a broker then mutes the connection, so that nothing is lost)",
                (one.text, other.text),
            )
            return


@scenario(
    "A consumer sends no request on a connection for the throttle time of the last response.",
    "KIP-219; NetworkClient.maybeThrottle, ClusterConnectionStates.throttle",
    judge=all_of(consumed(), _waited),
)
def consume_waits_when_throttled(stage: Stage) -> None:
    def change(response: Any) -> None:
        response.throttle_time_ms = THROTTLE_MS

    stage.create_topic()
    stage.send(10)
    stage.rewrite("Fetch", change, times=1, version=range(8, 100))
    stage.start()
    stage.wait_for_position(10)
    stage.send(10)
