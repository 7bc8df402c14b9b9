"""Online migration of groups between the protocols."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import AT_ONCE, REBALANCE_MS
from tests.unit.broker.groups.migrating import Migrating, assignment, subscription
from tests.unit.model.stage import Stage

JOINS: dict[str, Any] = {
    "rebalance_timeout_ms": REBALANCE_MS,
    "topic_partitions": [],
    "subscribed_topic_names": ["t"],
}


@pytest.fixture
def migrating() -> Iterator[Migrating]:
    stage = Stage(1, **AT_ONCE)
    stage.cluster.topic("t").create(6)
    yield Migrating(stage)
    stage.close()


def refusal(migrating: Migrating) -> str:
    """Return the error message for a member of the consumer protocol that tries to join."""
    answer = migrating.consumer.send("a", 0, **JOINS)
    assert answer["error_code"] == Code.GROUP_ID_NOT_FOUND
    return str(answer["error_message"])


def test_upgrade_keeps_assignments_of_classic_members(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.is_consumer
    described = {member["member_id"]: member for member in migrating.consumer.describe()["members"]}
    assert described[member_id]["member_type"] == 0
    assert described[member_id]["member_epoch"] == 1
    assert described[member_id]["assignment"]["topic_partitions"][0]["partitions"] == [0, 1, 2, 3, 4, 5]
    assert described["a"]["member_type"] == 1


def test_classic_members_rejoin_after_upgrade(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.classic.heartbeat(1, member_id) == Code.REBALANCE_IN_PROGRESS
    migrating.rejoin(member_id, {"t": [0, 1, 2, 3, 4, 5]})
    kept = migrating.partitions(member_id, 1)
    assert migrating.rejoin(member_id, {"t": kept})["generation_id"] == 2
    assert sorted(kept + migrating.consumer.beat("a")["t"]) == [0, 1, 2, 3, 4, 5]


def test_classic_member_that_does_not_rejoin_is_removed_after_session_timeout(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.advance(10_000)
    assert member_id not in migrating.group.members


def test_upgraded_group_survives_restart(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    before = migrating.consumer.describe()
    migrating.stage.restart()
    assert migrating.consumer.describe() == before


def test_empty_classic_group_is_replaced(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.classic.leave(member_id)
    migrating.consumer.join("a", "t")
    assert migrating.is_consumer
    migrating.stage.restart()
    assert migrating.is_consumer


def test_group_with_offsets_only_keeps_them(migrating: Migrating) -> None:
    assert migrating.consumer.commit("", -1) == 0
    migrating.consumer.join("a", "t")
    migrating.stage.restart()
    assert migrating.is_consumer
    shard = migrating.stage.cluster._server.brokers[1].coordinators.groups.shard_of("g")
    assert list(shard.offsets.groups()) == ["g"]


def test_upgrade_fails_waiting_joins_with_rebalance_in_progress(migrating: Migrating) -> None:
    migrating.begin_classic()
    second_id = migrating.classic.given_id()
    waiting = migrating.classic.join(second_id)
    assert waiting.is_waiting
    migrating.consumer.send("a", 0, **JOINS)
    assert waiting.answer()["error_code"] == Code.REBALANCE_IN_PROGRESS


def test_group_of_other_protocol_type_cannot_be_upgraded(migrating: Migrating) -> None:
    migrating.begin_classic(protocol_type="connect")
    assert refusal(migrating).endswith("because the group does not use the consumer embedded protocol.")
    assert migrating.is_classic


def test_group_with_undecodable_subscription_cannot_be_upgraded(migrating: Migrating) -> None:
    migrating.begin_classic(protocols={"range": b"\0"})
    assert refusal(migrating).endswith("because the embedded consumer protocol is malformed.")


def test_group_with_custom_assignor_cannot_be_upgraded(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.group.members[member_id].assignment = assignment({"t": [0]}, user_data=b"mine")
    assert "an unsupported custom assignor is in use" in refusal(migrating)


@pytest.mark.parametrize("policy", ["disabled", "Downgrade"])
def test_migration_policy_can_forbid_upgrade(migrating: Migrating, policy: str) -> None:
    migrating.stage.cluster._server.nodes[1].config.__dict__["group_consumer_migration_policy"] = policy
    migrating.begin_classic()
    assert refusal(migrating).endswith("because online upgrade is disabled.")


def test_group_can_be_too_large_for_upgrade(migrating: Migrating) -> None:
    migrating.stage.cluster._server.nodes[1].config.__dict__["group_consumer_max_size"] = 0
    migrating.begin_classic()
    assert refusal(migrating).endswith("because the group size exceeds the consumer group maximum size.")


def test_group_is_downgraded_and_rebalances_when_last_consumer_member_leaves(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.consumer.leave("a") == 0
    assert migrating.is_classic
    assert migrating.classic.heartbeat(2, member_id) == Code.REBALANCE_IN_PROGRESS
    joined = migrating.rejoin(member_id)
    assert (joined["error_code"], joined["generation_id"], joined["leader"]) == (0, 3, member_id)


def test_group_is_downgraded_when_session_of_last_consumer_member_times_out(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.rejoin(member_id)
    migrating.partitions(member_id, 2)
    for _ in range(9):
        migrating.stage.advance(5000)
        migrating.classic.heartbeat(2, member_id)
    assert migrating.is_classic


def test_downgraded_group_survives_restart(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.consumer.leave("a")
    migrating.stage.restart()
    assert migrating.is_classic
    assert migrating.consumer.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND


def test_static_member_that_switches_to_classic_protocol_causes_no_rebalance(migrating: Migrating) -> None:
    migrating.consumer.join("a", "t", instance_id="i")
    migrating.consumer.leave("a", -2, instance_id="i")
    answer = migrating.classic.join("", protocols={"range": subscription("t")}, group_instance_id="i").answer()
    assert (answer["error_code"], answer["generation_id"]) == (0, 2)
    assert migrating.is_classic
    assert migrating.group.state == "Stable"
    assert len(migrating.partitions_of_static(answer["member_id"])) == 6


def test_group_without_classic_members_stays_consumer_group(migrating: Migrating) -> None:
    migrating.consumer.join("a", "t")
    migrating.consumer.join("b", "t")
    migrating.consumer.leave("a")
    assert migrating.is_consumer


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_migration_policy_can_forbid_downgrade(migrating: Migrating, policy: str) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.cluster._server.nodes[1].config.__dict__["group_consumer_migration_policy"] = policy
    migrating.consumer.leave("a")
    assert migrating.is_consumer


def test_group_can_be_too_large_for_downgrade(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.cluster._server.nodes[1].config.__dict__["group_max_size"] = 0
    migrating.consumer.leave("a")
    assert migrating.is_consumer
