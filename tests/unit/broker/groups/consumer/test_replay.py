"""A consumer group is replayed from its log, after a restart and on another broker."""

from kafkalet.protocol.api import Api
from tests.unit.broker.groups.consuming import AT_ONCE, Consuming
from tests.unit.model.stage import Stage


def test_restart_changes_nothing(consuming: Consuming) -> None:
    consuming.join("a", "t", rack_id="r", server_assignor="range")
    consuming.join("b", "t", instance_id="i")
    consuming.beat("a")
    before = consuming.describe()
    consuming.stage.restart()
    assert consuming.describe() == before
    consuming.settle()
    assert sorted(consuming.owned["a"]["t"] + consuming.owned["b"]["t"]) == [0, 1, 2, 3, 4, 5]


def test_session_timeouts_start_again_after_restart(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.stage.advance(40_000)
    consuming.stage.restart()
    consuming.describe()
    consuming.stage.advance(44_000)
    assert not consuming.group.is_empty
    consuming.stage.advance(1000)
    assert consuming.group.is_empty


def test_rebalance_timeout_starts_again_after_restart(consuming: Consuming) -> None:
    consuming.join("a", "t", rebalance_timeout_ms=10_000)
    consuming.join("b", "t")
    consuming.beat("a")
    consuming.stage.restart()
    consuming.describe()
    consuming.stage.advance(11_000)
    assert "a" not in consuming.group.members


def test_expressions_are_known_after_restart(consuming: Consuming) -> None:
    consuming.join("a", subscribed_topic_regex="t.*")
    consuming.stage.settle()
    assert consuming.beat("a")
    consuming.stage.restart()
    assert consuming.describe()["members"][0]["subscribed_topic_regex"] == "t.*"
    consuming.stage.cluster.topic("t2").create(1)
    consuming.stage.advance(11_000)
    consuming.beat("a")
    consuming.stage.settle()
    assert consuming.beat("a")["t2"] == [0]


def test_next_coordinator_knows_group() -> None:
    stage = Stage(3, **AT_ONCE)
    stage.cluster.topic("t").create(6, replication_factor=3)
    consuming = Consuming(stage)
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.beat("a")
    before, first = consuming.describe(), consuming.node
    stage.stop_broker(first)
    assert consuming.node != first
    assert consuming.describe() == before
    consuming.settle()
    assert sorted(consuming.owned["a"]["t"] + consuming.owned["b"]["t"]) == [0, 1, 2, 3, 4, 5]
    stage.close()


def test_deleted_group_stays_deleted_after_restart(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.leave("a")
    answer = consuming.stage.ask(Api.DELETE_GROUPS, 2, 1, groups_names=["g"])
    assert answer["results"][0]["error_code"] == 0
    consuming.stage.restart()
    assert consuming.describe()["error_code"] == 69
