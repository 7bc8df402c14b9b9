"""Members of a consumer group join, stay and reconcile their assignments."""

from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import REBALANCE_MS, Consuming


def test_first_member_gets_all_partitions_immediately(consuming: Consuming) -> None:
    assert consuming.join("a", "t") == {"t": [0, 1, 2, 3, 4, 5]}
    assert consuming.epochs["a"] == 2
    assert consuming.group.state == "Stable"


def test_member_without_id_is_assigned_one(consuming: Consuming) -> None:
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
    answer = consuming.send("", 0, version=0, **fields)
    assert answer["error_code"] == 0
    assert len(answer["member_id"]) == 22


def test_unchanged_assignment_is_not_sent_again(consuming: Consuming) -> None:
    consuming.join("a", "t")
    answer = consuming.send("a", 2)
    assert (answer["member_epoch"], answer["assignment"], answer["heartbeat_interval_ms"]) == (2, None, 5000)


def test_full_request_gets_assignment_again(consuming: Consuming) -> None:
    consuming.join("a", "t")
    fields: dict[str, Any] = {
        "rebalance_timeout_ms": REBALANCE_MS,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }
    assert consuming.send("a", 2, **fields)["assignment"] is not None


def test_second_member_waits_until_first_has_revoked(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.join("b", "t") == {}
    assert consuming.group.state == "Reconciling"
    kept = consuming.beat("a")
    assert len(kept["t"]) == 3
    assert consuming.beat("b") == {}  # the first member has not confirmed the revocation yet
    consuming.beat("a")
    assert sorted(kept["t"] + consuming.beat("b")["t"]) == [0, 1, 2, 3, 4, 5]
    assert consuming.group.state == "Stable"


def test_member_epoch_advances_after_revocation(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.beat("a")
    assert consuming.epochs == {"a": 2, "b": 3}
    consuming.beat("a")
    assert consuming.epochs["a"] == 3


@pytest.mark.parametrize("epoch", [1, 3, 100])
def test_wrong_member_epoch_is_fenced(consuming: Consuming, epoch: int) -> None:
    consuming.join("a", "t")
    answer = consuming.send("a", epoch)
    assert answer["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert f"({epoch}) than the one known by the group coordinator (2)" in answer["error_message"]


def test_previous_epoch_is_accepted_with_own_partitions_only(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.leave("a", -1)
    consuming.join("a", "t")
    consuming.stage.cluster.topic("u").create(1)
    answer = consuming.send("a", 4, subscribed_topic_names=["t", "u"], topic_partitions=[])
    assert answer["member_epoch"] == 5
    again = consuming.send("a", 4, topic_partitions=consuming.listed({"t": [0, 1]}))
    assert (again["error_code"], again["member_epoch"]) == (0, 5)
    foreign = consuming.send("a", 4, topic_partitions=consuming.listed({"t": [0, 9]}))
    assert foreign["error_code"] == Code.FENCED_MEMBER_EPOCH


def test_non_member_has_to_join(consuming: Consuming) -> None:
    assert consuming.send("a", 5)["error_code"] == Code.GROUP_ID_NOT_FOUND
    consuming.join("a", "t")
    assert consuming.send("b", 5)["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_changed_subscription_increments_group_epoch(consuming: Consuming) -> None:
    consuming.stage.cluster.topic("u").create(2)
    consuming.join("a", "t")
    assert consuming.beat("a", subscribed_topic_names=["u"]) == {"u": [0, 1]} or consuming.beat("a") == {"u": [0, 1]}
    assert consuming.group.group_epoch == 3


def test_new_partitions_are_assigned_with_next_heartbeat(consuming: Consuming) -> None:
    consuming.join("a", "t")
    topic = consuming.stage.cluster._server.metadata.topics["t"]
    consuming.stage.cluster._server.controller.add_partitions(topic, [[1], [1]])
    assert consuming.beat("a") == {"t": [0, 1, 2, 3, 4, 5, 6, 7]}


def test_topic_created_later_is_assigned_when_it_exists(consuming: Consuming) -> None:
    assert consuming.join("a", "later") == {}
    consuming.stage.cluster.topic("later").create(1)
    assert consuming.beat("a") == {"later": [0]}


def test_deleted_topic_is_revoked(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.stage.cluster.topic("t").delete()
    assert consuming.beat("a") == {}
    assert consuming.epochs["a"] == 3


def test_unsubscribed_topics_do_not_change_group_epoch(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.stage.cluster.topic("other").create(1)
    consuming.beat("a")
    assert consuming.group.group_epoch == 2


def test_full_group_refuses_new_members(consuming: Consuming) -> None:
    consuming.stage.cluster._server.nodes[1].config.__dict__["group_consumer_max_size"] = 1
    consuming.join("a", "t")
    answer = consuming.send("b", 0, rebalance_timeout_ms=1, topic_partitions=[], subscribed_topic_names=["t"])
    assert answer["error_code"] == Code.GROUP_MAX_SIZE_REACHED
    assert answer["error_message"] == "The consumer group has reached its maximum capacity of 1 members."
    consuming.beat("a")


def test_assignment_interval_delays_next_target(consuming: Consuming) -> None:
    consuming.stage.cluster._server.nodes[1].config.__dict__["group_consumer_assignment_interval_ms"] = 1000
    consuming.join("a", "t")
    assert consuming.join("b", "t") == {}
    assert consuming.group.state == "Assigning"
    assert consuming.epochs["b"] == 2
    consuming.stage.advance(1000)
    consuming.settle()
    assert len(consuming.owned["b"]["t"]) == 3


def test_instance_id_of_active_static_member_is_not_released(consuming: Consuming) -> None:
    consuming.join("a", "t", instance_id="i")
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
    answer = consuming.send("b", 0, instance_id="i", **fields)
    assert answer["error_code"] == Code.UNRELEASED_INSTANCE_ID


def test_restarted_static_member_takes_over_assignment(consuming: Consuming) -> None:
    consuming.join("a", "t", instance_id="i")
    consuming.join("b", "t")
    consuming.settle()
    had = consuming.owned["a"]
    assert consuming.leave("a", -2, instance_id="i") == 0
    epoch = consuming.group.group_epoch
    assert consuming.join("c", "t", instance_id="i") == had
    assert consuming.group.group_epoch == epoch
    assert consuming.send("a", epoch, instance_id="i")["error_code"] == Code.FENCED_INSTANCE_ID
    assert consuming.send("a", epoch)["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_unknown_instance_id_returns_unknown_member_id(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.send("a", 2, instance_id="i")["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_assignor_of_most_members_is_used(consuming: Consuming) -> None:
    consuming.join("a", "t", server_assignor="range")
    assert consuming.describe()["assignor_name"] == "range"
    consuming.join("b", "t", server_assignor="uniform")
    consuming.join("c", "t", server_assignor="uniform")
    assert consuming.describe()["assignor_name"] == "uniform"


def test_configuration_of_group_overrides_broker(consuming: Consuming) -> None:
    consuming.stage.cluster._server.metadata.group_config["g"] = {
        "consumer.heartbeat.interval.ms": "7000",
        "consumer.session.timeout.ms": "50000",
    }
    consuming.join("a", "t")
    assert consuming.send("a", 2)["heartbeat_interval_ms"] == 7000
    consuming.stage.advance(49_000)
    assert not consuming.group.is_empty
    consuming.stage.advance(1000)
    assert consuming.group.is_empty
