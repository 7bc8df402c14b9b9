"""Members of a consumer group leave or are fenced."""

from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import REBALANCE_MS, Consuming


def test_partitions_of_leaving_member_are_reassigned(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.settle()
    assert consuming.leave("a") == 0
    del consuming.epochs["a"]
    consuming.settle()
    assert consuming.owned["b"] == {"t": [0, 1, 2, 3, 4, 5]}


def test_member_that_left_is_unknown(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.leave("a") == 0
    assert consuming.leave("a") == Code.UNKNOWN_MEMBER_ID
    assert consuming.group.state == "Empty"


def test_leave_of_unknown_group_returns_group_id_not_found(consuming: Consuming) -> None:
    assert consuming.leave("a") == Code.GROUP_ID_NOT_FOUND


def test_restarting_static_member_stays_until_session_timeout(consuming: Consuming) -> None:
    consuming.join("a", "t", instance_id="i")
    answer = consuming.send("a", -2, instance_id="i")
    assert (answer["error_code"], answer["member_epoch"]) == (0, -2)
    consuming.stage.advance(44_000)
    assert not consuming.group.is_empty
    consuming.stage.advance(1000)
    assert consuming.group.is_empty


def test_static_member_can_leave_permanently(consuming: Consuming) -> None:
    consuming.join("a", "t", instance_id="i")
    assert consuming.leave("b", -1, instance_id="i") == Code.FENCED_INSTANCE_ID
    assert consuming.leave("a", -1, instance_id="j") == Code.UNKNOWN_MEMBER_ID
    assert consuming.leave("a", -1, instance_id="i") == 0
    assert consuming.group.is_empty


def test_member_without_heartbeats_is_fenced(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.settle()
    consuming.stage.advance(44_000)
    consuming.beat("a")
    consuming.stage.advance(1000)
    assert consuming.send("b", 3)["error_code"] == Code.UNKNOWN_MEMBER_ID
    del consuming.epochs["b"]
    consuming.settle()
    assert consuming.owned["a"] == {"t": [0, 1, 2, 3, 4, 5]}


def test_member_that_does_not_revoke_in_time_is_fenced(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.beat("a")
    held = consuming.listed({"t": [0, 1, 2, 3, 4, 5]})
    for _ in range(3):
        consuming.stage.advance(REBALANCE_MS // 3)
        consuming.beat("b")
        answer = consuming.send("a", 2, topic_partitions=held)
    assert answer["error_code"] == Code.UNKNOWN_MEMBER_ID


def test_member_that_revokes_in_time_stays(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.beat("a")
    consuming.beat("a")
    consuming.stage.advance(REBALANCE_MS + 1000)
    assert len(consuming.group.members) == 2


def test_empty_group_has_current_assignment_epoch(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.leave("a")
    group = consuming.group
    assert (group.group_epoch, group.assignment_epoch, group.assignment_timestamp_ms) == (3, 3, 0)
    assert not group.target
