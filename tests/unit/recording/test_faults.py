"""`tools.recording.faults`: requests about a partition whose brokers are disturbed."""

from kafkalet_conformance.building import ScenarioBuilder, batch
from kafkalet_conformance.notation.messages import APIS
from tools.recording.faults import Cluster


def disturbed(release: str = "4.4") -> tuple[ScenarioBuilder, Cluster]:
    described = {int(APIS["DescribeTopicPartitions"]): (0, 0)} if release == "4.4" else {}
    ask = ScenarioBuilder("s", release, described)
    return ask, Cluster(ask, (2, 3))


def test_fault_is_undone_on_the_same_broker() -> None:
    ask, cluster = disturbed()
    cluster.do("pause", 3)
    cluster.undo("pause", 3)
    assert ask.steps[-2:] == [
        {"op": "broker", "node": 3, "do": "pause"},
        {"op": "broker", "node": 3, "do": "resume"},
    ]


def test_in_sync_replicas_are_awaited_in_any_order() -> None:
    ask, cluster = disturbed()
    cluster.wait(leader_id=2, isr_nodes=[3, 2], at=3)
    leader, isr = ask.steps[-2:]
    assert (leader["path"], leader["equals"], leader["conn"]) == ("topics.0.partitions.0.leader_id", 2, "at-3")
    assert (isr["equals"], isr["any_order"]) == ([2, 3], True)


def test_state_is_described_where_the_release_has_eligible_leaders() -> None:
    for release, apis in (("3.9", ["Metadata"]), ("4.4", ["Metadata", "DescribeTopicPartitions"])):
        ask, cluster = disturbed(release)
        cluster.state("now")
        assert [step["api"] for step in ask.steps if "case" in step] == apis


def test_record_is_sent_to_the_given_broker() -> None:
    ask, cluster = disturbed()
    cluster.produce("one", batch(10), at=3, acks=1)
    assert (ask.steps[-1]["conn"], ask.steps[-1]["body"]["acks"]) == ("at-3", 1)
