"""Tests of the routes of the clock."""

import pytest

from kafkalet.clock import ManualClock
from tests.wire.control.asking import Asking, asking


def test_advanced_clock_expires_old_records(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t", "config": {"retention.ms": "3600000", "segment.ms": "60000"}})
    for value in "ab":
        api.post("/v1/topics/t/records", {"value": value})
        clock = api.post("/v1/clock/advance", {"hours": 1, "minutes": 30})
    assert abs(clock["ahead_ms"] - 3 * 3_600_000) < 1000
    assert abs(api.get("/v1/clock")["now_ms"] - clock["now_ms"]) < 60_000
    assert [record["value"] for record in api.get("/v1/topics/t/records")["records"]] != ["a", "b"]


@pytest.mark.parametrize(
    ("body", "status"),
    [({"hours": -1}, 400), ({"days": 1e12}, 422), ({"milliseconds": 1e15}, 422), ({"weeks": 1}, 400)],
)
def test_impossible_advance_is_refused(api: Asking, body: object, status: int) -> None:
    assert api.ask("POST", "/v1/clock/advance", body).status == status


def test_clock_of_the_system_cannot_be_advanced() -> None:
    from kafkalet.clock import SystemClock

    with asking(clock=SystemClock()) as api:
        answer = api.ask("POST", "/v1/clock/advance", {"milliseconds": 1})
        assert (answer.status, answer.code) == (409, "conflict")


def test_manual_clock_is_advanced() -> None:
    with asking(clock=ManualClock(1000)) as api:
        assert api.post("/v1/clock/advance", {"milliseconds": 5})["now_ms"] == 1005
