"""Views of logs, groups and transactions of a running broker."""

import threading
from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.views import SegmentView, TransactionView
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from tests.wire.brokers import Wire, batch, timed

from .apis.test_join_group import body as join_body
from .transactions.producing import Tx, producing


@pytest.fixture
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=[kafkalet.NewTopic("t", 2)]) as running:
        yield running


def test_empty_log_starts_and_ends_at_zero(broker: kafkalet.Broker) -> None:
    log = broker.topic("t").log()
    assert (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset) == (0, 0, 0, 0)
    assert log.batches == []


def test_log_view_shows_current_offsets(broker: kafkalet.Broker) -> None:
    log = broker.topic("t").log()
    broker.topic("t").append(batch(b"a", b"b"))
    assert (log.high_watermark, log.log_end_offset) == (2, 2)
    broker.topic("t").append(batch(b"elsewhere"), 1)
    assert log.log_end_offset == 2


def test_repr_of_log_view_shows_offsets(broker: kafkalet.Broker) -> None:
    broker.topic("t").append(batch(b"a"), 1)
    assert repr(broker.topic("t").log(1)) == (
        "<t-1: log start offset 0, last stable offset 1, high watermark 1, log end offset 1>"
    )


def test_segments_have_base_offset_size_and_largest_timestamp(broker: kafkalet.Broker) -> None:
    first, second = timed(1000, 5000), timed(3000)
    broker.topic("t").append(first)
    broker._server.call(broker._server.leadership.leader_of("t", 0).log.roll)
    broker.topic("t").append(second)
    assert broker.topic("t").log().segments == [SegmentView(0, len(first), 5000), SegmentView(2, len(second), 3000)]


def test_empty_segment_has_no_timestamp(broker: kafkalet.Broker) -> None:
    assert broker.topic("t").log().segments == [SegmentView(0, 0, -1)]


def test_batches_of_all_segments_are_listed(broker: kafkalet.Broker) -> None:
    broker.topic("t").append(batch(b"a", b"b"))
    broker._server.call(broker._server.leadership.leader_of("t", 0).log.roll)
    broker.topic("t").append(batch(b"c"))
    found = broker.topic("t").log().batches
    assert [(entry.base_offset, entry.last_offset) for entry in found] == [(0, 1), (2, 2)]
    assert [record.value for entry in found for record in entry.records()] == [b"a", b"b", b"c"]


def test_batches_below_log_start_are_listed_until_segment_is_deleted(broker: kafkalet.Broker) -> None:
    for value in (b"a", b"b"):
        broker.topic("t").append(batch(value))
    broker._server.call(lambda: broker._server.leadership.leader_of("t", 0).delete_records(1))
    log = broker.topic("t").log()
    assert log.log_start_offset == 1
    assert [entry.base_offset for entry in log.batches] == [0, 1]


def test_batches_are_usable_after_broker_stops() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        broker.topic("t").append(batch(b"a"))
        found = broker.topic("t").log().batches
    assert [record.value for entry in found for record in entry.records()] == [b"a"]


def test_log_view_can_be_used_in_any_thread(broker: kafkalet.Broker) -> None:
    log = broker.topic("t").log()
    ends: list[int] = []

    def produce() -> None:
        for _ in range(100):
            broker.topic("t").append(batch(b"a"))

    producer = threading.Thread(target=produce)
    producer.start()
    while producer.is_alive():
        ends.append(log.log_end_offset)
        found = log.batches
        assert [entry.base_offset for entry in found] == list(range(len(found)))
        assert len(log.segments) == 1
    producer.join()
    assert ends == sorted(ends)


def test_log_view_of_deleted_topic_raises(broker: kafkalet.Broker) -> None:
    log = broker.topic("t").log()
    broker.topic("t").append(batch(b"a"))
    broker.topic("t").delete()
    with pytest.raises(KafkaError, match="topic t does not exist"):
        log.log_end_offset  # noqa: B018 - that it raises is the point
    assert repr(log) == "<t-0: UNKNOWN_TOPIC_OR_PARTITION: topic t does not exist>"


def test_log_view_shows_recreated_topic(broker: kafkalet.Broker) -> None:
    log = broker.topic("t").log()
    broker.topic("t").append(batch(b"a"))
    broker.topic("t").delete()
    broker.topic("t").create()
    assert log.log_end_offset == 0


def test_log_view_follows_the_leader() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        log = cluster.topic("t").log()
        cluster.topic("t").append(batch(b"a"))
        cluster.broker(1).stop()
        cluster.topic("t").append(batch(b"b"))
        assert log.offsets == (0, 2, 2, 2)


def test_log_view_of_partition_without_leader_raises() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.topic("t").create(assignments=[[2]])
        log = cluster.topic("t").log()
        cluster.broker(2).stop()
        with pytest.raises(KafkaError, match="t-0 has no leader; replicas that can lead: 2") as refused:
            log.offsets  # noqa: B018 - that it raises is the point
        assert refused.value.code is Code.LEADER_NOT_AVAILABLE


def test_views_of_stopped_broker_raise_but_have_repr() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        log, group = broker.topic("t").log(), broker.group("g")
    with pytest.raises(RuntimeError, match="this Broker is not running"):
        log.high_watermark  # noqa: B018 - that it raises is the point
    assert repr(log).startswith("<t-0: this Broker is not running; ")
    assert repr(group).startswith("<group g: this Broker is not running; ")


def test_transaction_view_shows_each_state() -> None:
    with producing(2, clock=ManualClock()) as tx:
        cluster = tx.wire.cluster
        view = cluster.transaction("x").describe()
        assert view == TransactionView("x", "Empty", tx.producer_id, 0, 60_000, [], -1, tx.node)
        assert tx.add() == Code.NONE
        view = cluster.transaction("x")
        assert (view.state, view.partitions, view.started_ms) == ("Ongoing", [("t", 0)], cluster._server.clock.now_ms())
        assert tx.end() == Code.NONE
        view = cluster.transaction("x")
        assert (view.state, view.partitions) == ("CompleteCommit", [])


@pytest.mark.parametrize("other_id_exists", [True, False])
def test_view_of_unknown_transactional_id_raises(broker: kafkalet.Broker, other_id_exists: bool) -> None:
    if other_id_exists:
        wire = Wire(broker)
        assert Tx(wire, "y").init() == Code.NONE
        wire.close()
    with pytest.raises(KafkaError, match="no transactional id x"):
        broker.transaction("x").describe()


def test_unknown_group_is_dead_and_empty(broker: kafkalet.Broker) -> None:
    group = broker.group("g")
    assert (group.state, group.members, group.committed()) == ("Dead", [], {})


def test_group_view_shows_members_and_committed_offsets(broker: kafkalet.Broker) -> None:
    wire = Wire(broker)
    wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    group = broker.group("g")
    assert group.state == "Dead"
    partitions = [{"partition_index": index, "committed_offset": index + 5} for index in range(2)]
    wire.ask("OffsetCommit", 7, {"group_id": "g", "topics": [{"name": "t", "partitions": partitions}]})
    assert (group.state, group.members, group.committed()) == ("Empty", [], {("t", 0): 5, ("t", 1): 6})
    assert repr(group) == "<group g: Empty, 0 members, offsets {('t', 0): 5, ('t', 1): 6}>"
    joined = wire.ask("JoinGroup", 3, join_body("g"))
    wire.close()
    assert [member.member_id for member in group.members] == [joined["member_id"]]
