"""Views of a log and of a group: what a test sees of them while the broker goes on."""

import threading
from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.views import SegmentView, TransactionView
from kafkalet.protocol.errors import Code, KafkaError
from tests.wire.brokers import Wire, batch, timed

from .apis.test_join_group import body as join_body
from .transactions.producing import Tx, producing


@pytest.fixture
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=[kafkalet.NewTopic("t", 2)]) as running:
        yield running


def test_an_empty_log_begins_and_ends_at_zero(broker: kafkalet.Broker) -> None:
    log = broker.log("t", 0)
    assert (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset) == (0, 0, 0, 0)
    assert log.batches == []


def test_a_view_is_live(broker: kafkalet.Broker) -> None:
    log = broker.log("t", 0)
    broker.produce("t", 0, batch(b"a", b"b"))
    assert (log.high_watermark, log.log_end_offset) == (2, 2)
    broker.produce("t", 1, batch(b"elsewhere"))
    assert log.log_end_offset == 2


def test_it_shows_its_offsets_where_it_is_printed(broker: kafkalet.Broker) -> None:
    broker.produce("t", 1, batch(b"a"))
    assert repr(broker.log("t", 1)) == (
        "<t-1: log start offset 0, last stable offset 1, high watermark 1, log end offset 1>"
    )


def test_segments_come_with_base_offset_size_and_largest_timestamp(broker: kafkalet.Broker) -> None:
    first, second = timed(1000, 5000), timed(3000)
    broker.produce("t", 0, first)
    broker.server.call(broker.server.leadership.leader_of("t", 0).log.roll)
    broker.produce("t", 0, second)
    assert broker.log("t", 0).segments == [SegmentView(0, len(first), 5000), SegmentView(2, len(second), 3000)]


def test_a_segment_without_records_has_no_timestamp(broker: kafkalet.Broker) -> None:
    assert broker.log("t", 0).segments == [SegmentView(0, 0, -1)]


def test_batches_are_those_on_disk_across_segments(broker: kafkalet.Broker) -> None:
    broker.produce("t", 0, batch(b"a", b"b"))
    broker.server.call(broker.server.leadership.leader_of("t", 0).log.roll)
    broker.produce("t", 0, batch(b"c"))
    found = broker.log("t", 0).batches
    assert [(entry.base_offset, entry.last_offset) for entry in found] == [(0, 1), (2, 2)]
    assert [record.value for entry in found for record in entry.records()] == [b"a", b"b", b"c"]


def test_batches_below_the_log_start_are_there_until_their_segment_goes(broker: kafkalet.Broker) -> None:
    for value in (b"a", b"b"):
        broker.produce("t", 0, batch(value))
    broker.server.call(lambda: broker.server.leadership.leader_of("t", 0).delete_records(1))
    log = broker.log("t", 0)
    assert log.log_start_offset == 1
    assert [entry.base_offset for entry in log.batches] == [0, 1]


def test_batches_outlive_their_broker() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        broker.produce("t", 0, batch(b"a"))
        found = broker.log("t").batches
    assert [record.value for entry in found for record in entry.records()] == [b"a"]


def test_a_view_may_be_used_in_any_thread_while_others_produce(broker: kafkalet.Broker) -> None:
    log = broker.log("t", 0)
    ends: list[int] = []

    def produce() -> None:
        for _ in range(100):
            broker.produce("t", 0, batch(b"a"))

    producer = threading.Thread(target=produce)
    producer.start()
    while producer.is_alive():
        ends.append(log.log_end_offset)
        found = log.batches
        assert [entry.base_offset for entry in found] == list(range(len(found)))
        assert len(log.segments) == 1
    producer.join()
    assert ends == sorted(ends)


def test_a_view_of_a_topic_that_was_deleted_has_nothing_to_show(broker: kafkalet.Broker) -> None:
    log = broker.log("t", 0)
    broker.produce("t", 0, batch(b"a"))
    broker.delete_topic("t")
    with pytest.raises(KafkaError, match="topic t does not exist"):
        log.log_end_offset  # noqa: B018 - that it raises is the point
    assert repr(log) == "<t-0: UNKNOWN_TOPIC_OR_PARTITION: topic t does not exist>"


def test_a_view_shows_the_topic_that_was_made_anew(broker: kafkalet.Broker) -> None:
    log = broker.log("t", 0)
    broker.produce("t", 0, batch(b"a"))
    broker.delete_topic("t")
    broker.create_topic("t")
    assert log.log_end_offset == 0


def test_a_view_follows_the_leader() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.create_topic("t", assignments=[[1, 2]])
        log = cluster.log("t")
        cluster.produce("t", 0, batch(b"a"))
        cluster.stop_broker(1)
        cluster.produce("t", 0, batch(b"b"))
        assert log.offsets == (0, 2, 2, 2)


def test_a_view_of_a_partition_without_a_leader_says_so() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.create_topic("t", assignments=[[2]])
        log = cluster.log("t")
        cluster.stop_broker(2)
        with pytest.raises(KafkaError, match="t-0 has no leader; in-sync replicas: 2") as refused:
            log.offsets  # noqa: B018 - that it raises is the point
        assert refused.value.code is Code.LEADER_NOT_AVAILABLE


def test_views_of_a_broker_that_has_stopped_say_so_and_can_be_printed() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        log, group = broker.log("t"), broker.group("g")
    with pytest.raises(RuntimeError, match="this Broker is not running"):
        log.high_watermark  # noqa: B018 - that it raises is the point
    assert repr(log).startswith("<t-0: this Broker is not running; ")
    assert repr(group).startswith("<group g: this Broker is not running; ")


def test_a_transaction_in_its_course() -> None:
    with producing(2, clock=kafkalet.ManualClock()) as tx:
        cluster = tx.wire.cluster
        view = cluster.transaction("x")
        assert view == TransactionView("x", "Empty", tx.producer_id, 0, 60_000, [], -1, tx.node)
        assert tx.add() == Code.NONE
        view = cluster.transaction("x")
        assert (view.state, view.partitions, view.started_ms) == ("Ongoing", [("t", 0)], cluster.server.clock.now_ms())
        assert tx.end() == Code.NONE
        view = cluster.transaction("x")
        assert (view.state, view.partitions) == ("CompleteCommit", [])


@pytest.mark.parametrize("somebody_else", [True, False])
def test_a_transactional_id_that_nobody_used(broker: kafkalet.Broker, somebody_else: bool) -> None:
    if somebody_else:
        wire = Wire(broker)
        assert Tx(wire, "y").init() == Code.NONE
        wire.close()
    with pytest.raises(KafkaError, match="no transactional id x"):
        broker.transaction("x")


def test_a_group_that_nobody_knows_is_dead_and_empty(broker: kafkalet.Broker) -> None:
    group = broker.group("g")
    assert (group.state, group.members, group.offsets) == ("Dead", [], {})


def test_a_group_shows_its_members_and_what_it_has_committed(broker: kafkalet.Broker) -> None:
    wire = Wire(broker)
    wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    group = broker.group("g")
    assert group.state == "Dead"
    partitions = [{"partition_index": index, "committed_offset": index + 5} for index in range(2)]
    wire.ask("OffsetCommit", 7, {"group_id": "g", "topics": [{"name": "t", "partitions": partitions}]})
    assert (group.state, group.members, group.offsets) == ("Empty", [], {("t", 0): 5, ("t", 1): 6})
    assert repr(group) == "<group g: Empty, 0 members, offsets {('t', 0): 5, ('t', 1): 6}>"
    joined = wire.ask("JoinGroup", 3, join_body("g"))
    wire.close()
    assert group.members == [joined["member_id"]]
