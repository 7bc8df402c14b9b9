"""Tests of the routes of share groups; the witness is a member that sends requests."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.control.asking import Asking
from tests.wire.testing.share_worker import ACCEPT, ALICE, RELEASE, Acquired, Worker, worker

from .test_events import streaming

JOBS = "/v1/share-groups/jobs"


@pytest.fixture
def alice(api: Asking) -> Iterator[Worker]:
    """A member of the group that has acquired three records, and acknowledged the first."""
    api.post("/v1/topics/t/records", {"records": [{"value": value} for value in "abc"]})
    api.post(f"{JOBS}/seek", {"offset": "earliest", "topic": "t"})
    with worker(api.cluster, ALICE) as member:
        assert member.fetch() == [Acquired(0, 2, 1)]
        assert member.acknowledge(ACCEPT, 0) == Code.NONE
        yield member


def test_share_group_shows_members_and_the_state_of_records(api: Asking, alice: Worker) -> None:
    group = api.post(f"{JOBS}/wait-until-stable", {"members": 1})
    [member] = group["members"]
    assert (member["member_id"], member["topics"], member["assignment"]) == (
        ALICE,
        ["t"],
        [{"topic": "t", "partition": 0}],
    )
    counts = {"available": 0, "acquired": 2, "acknowledged": 1, "archived": 0}
    assert group["positions"] == [
        {"topic": "t", "partition": 0, "start_offset": 1, "end": 3, "lag": 2, **counts},
    ]
    assert (group["state"], group["lag"], group["config"]) == ("Stable", 2, {})


def test_share_groups_are_listed_apart_from_consumer_groups(api: Asking, alice: Worker) -> None:
    api.post("/v1/groups/readers/seek", {"offset": "latest", "topic": "t"})
    assert [group["group_id"] for group in api.get("/v1/share-groups")["share_groups"]] == ["jobs"]
    assert [group["group_id"] for group in api.get("/v1/groups")["groups"]] == ["readers"]


def test_share_group_that_does_not_exist_is_not_found(api: Asking) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/expire-locks")):
        answer = api.ask(method, f"{JOBS}{path}")
        assert (answer.status, answer.code) == (404, "GROUP_ID_NOT_FOUND")


def test_records_have_state_and_deliveries(api: Asking, alice: Worker) -> None:
    found = api.get(f"{JOBS}/records?state=acquired&limit=1")["records"]
    assert [(each["value"], each["state"], each["deliveries"], each["member_id"]) for each in found] == [
        ("b", "acquired", 1, ALICE)
    ]
    assert len(api.get(f"{JOBS}/records")["records"]) == 3
    assert api.ask("GET", f"{JOBS}/records?state=lost").status == 400


def test_locks_expire(api: Asking, alice: Worker) -> None:
    assert api.post(f"{JOBS}/expire-locks", {"member_id": "bob"}) == {"expired": 0}
    assert api.post(f"{JOBS}/expire-locks") == {"expired": 2}
    assert alice.fetch() == [Acquired(1, 2, 2)]


def test_waits_end_with_the_state_of_the_group(api: Asking, alice: Worker) -> None:
    assert api.post(f"{JOBS}/wait", {"acknowledged": 1, "acquired": 2})["lag"] == 2
    assert api.ask("POST", f"{JOBS}/wait", {"archived": 1, "timeout": 0}).status == 408
    alice.acknowledge(ACCEPT, 1, 2)
    assert api.post(f"{JOBS}/wait-for-lag")["positions"][0]["acknowledged"] == 3


@pytest.mark.parametrize(("path", "body"), [("wait", {}), ("seek", {}), ("seek", {"offset": 1, "partition": 0})])
def test_incomplete_request_is_refused(api: Asking, path: str, body: dict[str, Any]) -> None:
    assert api.ask("POST", f"{JOBS}/{path}", body).status == 422


def test_properties_of_a_group_are_changed(api: Asking) -> None:
    changed = api.post(f"{JOBS}/configure", {"config": {"share.auto.offset.reset": "earliest"}})
    assert changed == {"config": {"share.auto.offset.reset": "earliest"}}
    assert api.post(f"{JOBS}/configure", {"config": {"share.auto.offset.reset": None}}) == {"config": {}}


def test_evicted_member_is_gone_and_group_can_be_deleted(api: Asking, alice: Worker) -> None:
    assert api.ask("DELETE", JOBS).code == "NON_EMPTY_GROUP"
    assert api.post(f"{JOBS}/evict", {"member_id": ALICE})["members"] == []
    assert api.post(f"{JOBS}/seek", {"offset": 2})["positions"][0]["start_offset"] == 2
    assert api.ask("DELETE", JOBS).status == 204
    assert api.get("/v1/share-groups") == {"share_groups": []}


def test_events_have_the_states_after_each_request(api: Asking, alice: Worker) -> None:
    with streaming(api, "share_groups") as stream:
        _, first = stream.next()
        assert first["share_groups"] == [api.get(JOBS)]
        alice.acknowledge(ACCEPT, 1, 2)
        _, second = stream.next()
        assert second["share_groups"][0]["positions"][0]["acknowledged"] == 3


def test_released_record_is_available(api: Asking, alice: Worker) -> None:
    alice.acknowledge(RELEASE, 1, 2)
    assert api.get(JOBS)["positions"][0]["available"] == 2
