"""What a comparison has reached."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet_conformance.between.coverage import Coverage, ranges
from kafkalet_conformance.between.histories.history import History, repeated

FETCH = {"op": "request", "case": "1", "api": "Fetch", "version": 4}


def of_fetch(**partition: Any) -> dict[str, Any]:
    return {"throttle_time_ms": 0, "responses": [{"partitions": [{"error_code": 0} | partition]}]}


def test_versions_are_shown_as_ranges() -> None:
    assert ranges({0, 1, 2, 4, 7, 8}) == "v0-2,4,7-8"


def test_error_codes_are_counted_by_api() -> None:
    coverage = Coverage()
    coverage.add(FETCH, of_fetch(error_code=1))
    coverage.add(FETCH, of_fetch())
    assert coverage.errors == {"Fetch": {1: 1, 0: 1}}


def test_preparation_is_not_counted() -> None:
    coverage = Coverage()
    coverage.add({"op": "request", "setup": True, "api": "Fetch", "version": 4}, of_fetch())
    assert (coverage.responses, coverage.versions) == (0, {})


def test_versions_that_were_not_sent_are_listed() -> None:
    coverage = Coverage()
    coverage.add(FETCH, of_fetch())
    assert "versions not reached: Fetch v5-6" in coverage.lines({Api.FETCH: (4, 6)})


@pytest.mark.parametrize(
    ("state", "partition"),
    [
        ("leader epochs above 0", {"leader_epoch": 1}),
        ("records deleted from the start of a log", {"log_start_offset": 3}),
        ("open transactions", {"last_stable_offset": 1, "high_watermark": 2}),
        ("aborted transactions", {"aborted_transactions": [{"producer_id": 1, "first_offset": 0}]}),
        ("transaction markers", {"records": [{"records": [{"offset": 0, "marker": "COMMIT"}]}]}),
    ],
)
def test_state_is_recognized_in_a_response(state: str, partition: dict[str, Any]) -> None:
    coverage = Coverage()
    coverage.add(FETCH, of_fetch(**partition))
    assert coverage.states == {state: 1}


def test_state_is_announced_by_the_history() -> None:
    history = History("a", "4.4", {})
    history.reached("an election")
    coverage = Coverage()
    coverage.add(history.steps[0], None)
    assert coverage.states == {"an election": 1}


def test_repeated_element_stands_in_one_array_of_the_request() -> None:
    body = {"topics": [{"name": "t", "partitions": []}], "records": [1]}
    twice, is_repeated = repeated(body, History("a", "4.4", {}).dice)
    assert is_repeated
    assert twice == {"topics": body["topics"] * 2, "records": [1]}
