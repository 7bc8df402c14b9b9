"""Tests of the routes of the log cleaner and of retention."""

from tests.wire.control.asking import Asking


def offsets(api: Asking) -> list[int]:
    return [record["offset"] for record in api.get("/v1/topics/t/records")["records"]]


def test_cleaner_compacts_rolled_segments(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t", "config": {"cleanup.policy": "compact"}})
    for value in "abc":
        api.post("/v1/topics/t/records", {"key": "k", "value": value})
    assert api.post("/v1/cleaner/run", {}) == {"cleaned": []}
    (cleaned,) = api.post("/v1/cleaner/run", {"roll": True})["cleaned"]
    assert (cleaned["topic"], cleaned["partition"], cleaned["broker"]) == ("t", 0, 1)
    assert (cleaned["first_dirty_offset"], cleaned["end_offset"]) == (0, 3)
    assert (cleaned["records_before"], cleaned["records_after"]) == (3, 1)
    assert cleaned["bytes_before"] > cleaned["bytes_after"]
    assert offsets(api) == [2]


def test_retention_deletes_expired_segments(api: Asking) -> None:
    api.post("/v1/topics", {"name": "t", "config": {"retention.bytes": "0"}})
    api.post("/v1/topics/t/records", {"value": "a"})
    retained = api.post("/v1/retention/run", {})["retained"]
    assert retained == [{"topic": "t", "partition": 0, "broker": 1, "deleted_segments": 1, "log_start_offset": 1}]
    assert offsets(api) == []
