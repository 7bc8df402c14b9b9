"""A consumer group becomes a classic one when the last member of the consumer protocol has gone."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.broker.groups.consuming import AT_ONCE
from tests.broker.groups.migrating import Migrating, subscription
from tests.model.stage import Stage


@pytest.fixture
def migrating() -> Iterator[Migrating]:
    stage = Stage(1, **AT_ONCE)
    stage.cluster.create_topic("t", 6)
    yield Migrating(stage)
    stage.close()


def test_the_last_one_leaves_a_classic_group_that_rebalances(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    assert migrating.consumer.leave("a") == 0
    assert migrating.is_classic
    assert migrating.classic.heartbeat(2, member_id) == Code.REBALANCE_IN_PROGRESS
    joined = migrating.rejoin(member_id)
    assert (joined["error_code"], joined["generation_id"], joined["leader"]) == (0, 3, member_id)


def test_the_last_one_may_also_be_missed(migrating: Migrating) -> None:
    member_id = migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.rejoin(member_id)
    migrating.partitions(member_id, 2)
    for _ in range(9):
        migrating.stage.advance(5000)
        migrating.classic.heartbeat(2, member_id)
    assert migrating.is_classic


def test_the_change_is_kept(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.consumer.leave("a")
    migrating.stage.restart()
    assert migrating.is_classic
    assert migrating.consumer.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND


def test_a_static_member_that_changes_its_protocol_goes_on_as_it_was(migrating: Migrating) -> None:
    migrating.consumer.join("a", "t", instance_id="i")
    migrating.consumer.leave("a", -2, instance_id="i")
    answer = migrating.classic.join("", protocols={"range": subscription("t")}, group_instance_id="i").answer()
    assert (answer["error_code"], answer["generation_id"]) == (0, 2)
    assert migrating.is_classic
    assert migrating.group.state == "Stable"
    assert len(migrating.partitions_of_static(answer["member_id"])) == 6


def test_a_group_of_consumers_stays_one(migrating: Migrating) -> None:
    migrating.consumer.join("a", "t")
    migrating.consumer.join("b", "t")
    migrating.consumer.leave("a")
    assert migrating.is_consumer


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_it_may_be_forbidden(migrating: Migrating, policy: str) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.cluster.server.nodes[1].config.__dict__["group_consumer_migration_policy"] = policy
    migrating.consumer.leave("a")
    assert migrating.is_consumer


def test_a_group_may_be_too_large_for_it(migrating: Migrating) -> None:
    migrating.begin_classic()
    migrating.consumer.join("a", "t")
    migrating.stage.cluster.server.nodes[1].config.__dict__["group_max_size"] = 0
    migrating.consumer.leave("a")
    assert migrating.is_consumer
