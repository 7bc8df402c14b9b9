"""Requests that are repeated immediately after an error."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkalet_conformance.clients.observing.rules.retries import MOST, MOST_FETCHES, RetryBackoff

from .synthetic import Exchanges

FIND = FindCoordinatorRequest(key="g")
FAILED = FindCoordinatorResponse(error_code=Code.COORDINATOR_NOT_AVAILABLE)


def repeated(times: int, after_s: float, response: FindCoordinatorResponse = FAILED) -> list[str]:
    exchanges = Exchanges(RetryBackoff())
    for _ in range(times):
        exchanges.ask(FIND, 1, response, after_s=after_s)
    return exchanges.found


def test_fast_retries_are_found_once() -> None:
    assert repeated(3 * MOST, 0.001) == ["retried-too-fast"]


def test_retries_with_a_backoff_are_correct() -> None:
    assert repeated(3 * MOST, 0.1) == []


def test_few_fast_retries_are_correct() -> None:
    assert repeated(MOST, 0.001) == []


def test_requests_after_success_are_not_retries() -> None:
    assert repeated(3 * MOST, 0.001, FindCoordinatorResponse()) == []


def fetched_again(times: int, after_s: float, error: Code = Code.NOT_LEADER_OR_FOLLOWER) -> list[str]:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=5, partition_max_bytes=100)
    request = FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchRequest.Topic(topic="t", partitions=[partition])])
    answer = FetchResponse.Topic.Partition(partition_index=0, error_code=error, high_watermark=5)
    response = FetchResponse(responses=[FetchResponse.Topic(topic="t", partitions=[answer])])
    exchanges = Exchanges(RetryBackoff())
    for _ in range(times):
        exchanges.ask(request, 4, response, after_s=after_s)
    return exchanges.found


def test_fetch_repeated_at_once_after_an_error_of_a_partition_is_noted_once() -> None:
    assert fetched_again(MOST_FETCHES, 0.001) == []
    assert fetched_again(2 * MOST, 0.001) == ["fetched-again-too-fast"]
    assert fetched_again(2 * MOST, 0.1) == []
    assert fetched_again(2 * MOST, 0.001, Code.NONE) == []


def test_different_requests_are_not_retries() -> None:
    exchanges = Exchanges(RetryBackoff())
    for number in range(3 * MOST):
        exchanges.ask(FindCoordinatorRequest(key=f"g{number}"), 1, FAILED, after_s=0.001)
    assert exchanges.found == []
