"""Subscriptions by regular expression."""

from typing import Any

import pytest

from kafkalet.broker.groups.consumer.members import ConsumerMember, Resolved, wanted_names
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import Consuming, Partitions


def join_with(consuming: Consuming, member_id: str, expression: str, *topics: str) -> Partitions:
    """Join with an expression and return the assignment after the second heartbeat."""
    assert consuming.join(member_id, *topics, subscribed_topic_regex=expression) == {} or topics
    consuming.stage.settle()
    return consuming.beat(member_id)


def test_matching_topics_are_assigned_with_second_heartbeat(consuming: Consuming) -> None:
    consuming.stage.cluster.topic("u").create(1)
    assert join_with(consuming, "a", "[t]") == {"t": [0, 1, 2, 3, 4, 5]}


def test_names_and_expressions_are_combined(consuming: Consuming) -> None:
    consuming.stage.cluster.topic("u").create(1)
    assert join_with(consuming, "a", "u+", "t").keys() == {"t", "u"}


def test_expression_without_matches_assigns_nothing(consuming: Consuming) -> None:
    assert join_with(consuming, "a", "x.*") == {}


def test_invalid_expression_is_refused(consuming: Consuming) -> None:
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_regex": "("}
    answer = consuming.send("a", 0, **fields)
    assert answer["error_code"] == Code.INVALID_REGULAR_EXPRESSION
    assert answer["error_message"] == ("SubscribedTopicRegex `(` is not a valid regular expression: missing closing ).")
    assert consuming.leave("a") == Code.GROUP_ID_NOT_FOUND


def test_new_topics_are_found_after_ten_seconds(consuming: Consuming) -> None:
    join_with(consuming, "a", "t.*")
    consuming.stage.cluster.topic("t2").create(1)
    consuming.stage.advance(9000)
    consuming.beat("a")
    consuming.stage.settle()
    assert "t2" not in consuming.beat("a")
    consuming.stage.advance(2000)
    consuming.beat("a")
    consuming.stage.settle()
    assert consuming.beat("a")["t2"] == [0]


def test_expression_of_another_member_is_already_resolved(consuming: Consuming) -> None:
    join_with(consuming, "a", "t")
    consuming.join("b", subscribed_topic_regex="t")
    consuming.settle()
    assert len(consuming.owned["b"]["t"]) == 3


def test_expression_without_members_is_removed(consuming: Consuming) -> None:
    join_with(consuming, "a", "t")
    consuming.join("b", "t")
    consuming.leave("a")
    assert not consuming.group.members.resolved
    del consuming.epochs["a"]
    consuming.settle()
    assert consuming.owned["b"] == {"t": [0, 1, 2, 3, 4, 5]}


def test_member_can_drop_its_expression(consuming: Consuming) -> None:
    join_with(consuming, "a", "t")
    consuming.beat("a", subscribed_topic_regex="")
    consuming.settle()
    assert consuming.owned["a"] == {}
    assert not consuming.group.members.resolved


def test_heartbeat_v0_has_no_expression(consuming: Consuming) -> None:
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
    answer = consuming.send("a", 0, version=0, **fields)
    assert answer["error_code"] == 0
    assert consuming.describe()["members"][0]["subscribed_topic_regex"] == ""


def test_topics_are_resolved_after_heartbeat(consuming: Consuming) -> None:
    consuming.join("a", subscribed_topic_regex="t{1,40}")
    assert consuming.group.is_resolving
    assert not consuming.group.members.resolved
    consuming.stage.settle()
    assert not consuming.group.is_resolving
    assert consuming.beat("a").keys() == {"t"}


@pytest.mark.parametrize(("expression", "code"), [("t|" * 2000, 0), ("t|" * 2000 + "(", 128)])
def test_long_expression_is_compiled_in_steps(consuming: Consuming, expression: str, code: int) -> None:
    """The handler is then a coroutine; the response is the same."""
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_regex": expression}
    assert consuming.send("a", 0, **fields)["error_code"] == code


def test_expression_dropped_during_resolution_is_not_written(consuming: Consuming) -> None:
    consuming.join("a", subscribed_topic_regex="t")
    consuming.beat("a", subscribed_topic_regex="")
    consuming.stage.settle()
    assert not consuming.group.members.resolved
    assert not consuming.group.is_resolving


def test_resolution_for_removed_group_writes_nothing(consuming: Consuming) -> None:
    consuming.join("a", subscribed_topic_regex="t")
    shard = consuming.group.shard
    end_offset = shard.log.partition.log.log_end_offset
    del shard.groups[consuming.group_id]
    consuming.stage.settle()
    assert shard.log.partition.log.log_end_offset == end_offset


def test_topic_subscribed_by_name_and_expression_counts_once() -> None:
    member = ConsumerMember("a", topic_names=frozenset({"x", "y"}), topic_regex=".*")
    assert sorted(wanted_names(member, {})) == ["x", "y"]
    assert sorted(wanted_names(member, {".*": Resolved(frozenset({"y", "z"}), 1, 1)})) == ["x", "y", "z"]
