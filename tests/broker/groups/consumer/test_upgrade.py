"""A classic group becomes a consumer group with the first member of that protocol."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.broker.groups.consuming import AT_ONCE, REBALANCE_MS
from tests.broker.groups.migrating import Migrating, assignment
from tests.model.stage import Stage

JOINS: dict[str, Any] = {
    "rebalance_timeout_ms": REBALANCE_MS,
    "topic_partitions": [],
    "subscribed_topic_names": ["t"],
}


@pytest.fixture
def migrating() -> Iterator[Migrating]:
    stage = Stage(1, **AT_ONCE)
    stage.cluster.create_topic("t", 6)
    yield Migrating(stage)
    stage.close()


def refusal(migrating: Migrating) -> str:
    """Why a member of the consumer protocol is not let in."""
    answer = migrating.consumer.send("a", 0, **JOINS)
    assert answer["error_code"] == Code.GROUP_ID_NOT_FOUND
    return str(answer["error_message"])


def test_members_go_on_with_what_they_have(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.is_consumer
    described = {member["member_id"]: member for member in migrating.consumer.describe()["members"]}
    assert described[member_id]["member_type"] == 0
    assert described[member_id]["member_epoch"] == 1
    assert described[member_id]["assignment"]["topic_partitions"][0]["partitions"] == [0, 1, 2, 3, 4, 5]
    assert described["a"]["member_type"] == 1


def test_they_are_told_to_join_again_and_share(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.classic.heartbeat(1, member_id) == Code.REBALANCE_IN_PROGRESS
    migrating.rejoin(member_id, {"t": [0, 1, 2, 3, 4, 5]})
    kept = migrating.partitions(member_id, 1)
    assert migrating.rejoin(member_id, {"t": kept})["generation_id"] == 2
    assert sorted(kept + migrating.consumer.beat("a")["t"]) == [0, 1, 2, 3, 4, 5]


def test_a_member_that_never_comes_back_is_missed_after_its_session(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.advance(10_000)
    assert member_id not in migrating.group.members


def test_the_change_is_kept(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    before = migrating.consumer.describe()
    migrating.stage.restart()
    assert migrating.consumer.describe() == before


def test_an_empty_group_needs_no_change(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.classic.leave(member_id)
    migrating.consumer.join("a", "t")
    assert migrating.is_consumer
    migrating.stage.restart()
    assert migrating.is_consumer


def test_a_group_that_has_only_committed_offsets_keeps_them(migrating: Migrating) -> None:
    assert migrating.consumer.commit("", -1) == 0
    migrating.consumer.join("a", "t")
    migrating.stage.restart()
    assert migrating.is_consumer
    shard = migrating.stage.cluster.server.nodes[1].coordinators.groups.shard_of("g")
    assert list(shard.offsets.groups()) == ["g"]


def test_those_who_wait_are_sent_back(migrating: Migrating) -> None:
    migrating.begin_classic()
    second_id = migrating.classic.given_id()
    waiting = migrating.classic.join(second_id)
    assert waiting.is_waiting
    migrating.consumer.send("a", 0, **JOINS)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS


def test_members_that_are_no_consumers_do_not_change(migrating: Migrating) -> None:
    migrating.begin_classic(protocol_type="connect")
    assert refusal(migrating).endswith("because the group does not use the consumer embedded protocol.")
    assert migrating.is_classic


def test_what_cannot_be_read_does_not_change(migrating: Migrating) -> None:
    migrating.begin_classic(protocols={"range": b"\0"})
    assert refusal(migrating).endswith("because the embedded consumer protocol is malformed.")


def test_assignors_of_ones_own_do_not_change(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.group.members[member_id].assignment = assignment({"t": [0]}, user_data=b"mine")
    assert "an unsupported custom assignor is in use" in refusal(migrating)


@pytest.mark.parametrize("policy", ["disabled", "Downgrade"])
def test_it_may_be_forbidden(migrating: Migrating, policy: str) -> None:
    migrating.stage.cluster.server.nodes[1].config.__dict__["group_consumer_migration_policy"] = policy
    migrating.begin_classic()
    assert refusal(migrating).endswith("because online upgrade is disabled.")


def test_a_group_may_be_too_large_for_it(migrating: Migrating) -> None:
    migrating.stage.cluster.server.nodes[1].config.__dict__["group_consumer_max_size"] = 0
    migrating.begin_classic()
    assert refusal(migrating).endswith("because the group size exceeds the consumer group maximum size.")
