"""Tests of the groups of the test kit, with members of each client and both protocols."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import confluent_kafka
import pytest

from kafkalet import Broker, Cluster
from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.consumer.group import ConsumerGroup
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.testing.group import Group, Seen, described, find_shard
from kafkalet.testing.waiting import wait

from .applications import CLIENTS, QUICK, running

NOW_MS = 1_700_000_000_000
TIME = datetime.fromtimestamp(NOW_MS / 1000 + 1, UTC)
PROTOCOLS = ["confluent-kafka", "confluent-kafka/consumer"]
"""A client of each protocol."""

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(config=QUICK) as broker:
        yield broker


KILLED = """
import sys
from confluent_kafka import Consumer
settings = {"bootstrap.servers": sys.argv[1], "group.id": "g", "client.id": "evicted", "group.protocol": sys.argv[2]}
consumer = Consumer(settings)
consumer.subscribe(["t"])
while True:
    consumer.poll(0.05)
"""


@contextlib.contextmanager
def killed_member(kafka: Broker, client: str) -> Iterator[None]:
    """Let a process join the group and kill it, so that its session is still open."""
    protocol = "consumer" if client.endswith("/consumer") else "classic"
    process = subprocess.Popen([sys.executable, "-c", KILLED, kafka.bootstrap_servers, protocol])
    try:
        kafka.group("g").wait_until_stable(members=1)
    finally:
        process.kill()
        process.wait()
    yield


def member_of(group: Group, client_id: str) -> str:
    return next(member.member_id for member in group.members if member.client_id == client_id)


# Lag


@pytest.mark.parametrize("client", CLIENTS)
def test_lag_is_zero_after_application_has_processed_and_committed(kafka: Broker, client: str) -> None:
    topic = kafka.topic("t", partitions=2)
    topic.send_json({"id": 7}, key="7")
    with running(client, kafka.bootstrap_servers) as app:
        kafka.group("g").wait_for_lag(0)
        assert app.seen == [b'{"id": 7}']
        topic.send_batch(["a", "b"], partition=0)
        assert kafka.group("g").wait_for_lag(0).lag == 0
    assert sorted(app.seen) == [b"a", b"b", b'{"id": 7}']


@pytest.mark.parametrize("client", CLIENTS)
def test_consumer_that_starts_at_the_end_has_no_lag_until_a_record_arrives(kafka: Broker, client: str) -> None:
    topic = kafka.topic("t")
    topic.send_batch(["old", "older"])
    with running(client, kafka.bootstrap_servers, reset="latest") as app:
        assert kafka.group("g").wait_for_lag(0).committed() == {}
        topic.send("new")
        assert kafka.group("g").wait_for_lag(0).committed() == {("t", 0): 3}
        assert app.seen == [b"new"]


@pytest.mark.parametrize("client", CLIENTS)
def test_aborted_records_and_markers_do_not_count_as_lag_with_read_committed(kafka: Broker, client: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions()
    kafka.topic("t", partitions=1)
    for value, end in ((b"committed", producer.commit_transaction), (b"aborted", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush()
        end()
    with running(client, kafka.bootstrap_servers, isolation="read_committed") as app:
        kafka.group("g").wait_for_commit("t", 0, 1)
        kafka.group("g").wait_for_lag(0)
    assert app.seen == [b"committed"]


def test_lag_of_read_committed_consumer_does_not_change_between_its_requests(kafka: Broker) -> None:
    kafka.topic("t", partitions=1).send("v")
    kafka.topic("t", partitions=1).layout("aborted", first=0, after=0)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["t"])
    message = consumer.poll(10)
    assert message is not None
    consumer.commit(message, asynchronous=False)
    lags = []
    for number in range(50):
        with kafka.open_transaction(f"tx{number}") as transaction:
            transaction.send("t", "aborted")
            transaction.abort()  # responses the Fetch request
        lags.append(kafka.group("g").lag)
    consumer.close()
    assert set(lags) == {0}


def test_start_of_consumer_does_not_outlive_its_topic(kafka: Broker) -> None:
    topic = kafka.topic("t", partitions=1)
    topic.send_batch(["a", "b", "c"])
    with running("confluent-kafka", kafka.bootstrap_servers, reset="latest") as app:
        group = kafka.group("g").wait_for_lag(0)
        topic.delete()
        topic.create(partitions=1).send("new")
        assert group.lags == {("t", 0): 1} or app.seen


def test_lag_counts_records_after_the_committed_offset(kafka: Broker) -> None:
    kafka.topic("t", partitions=2).send_batch(["a", "b", "c"], partition=1)
    group = kafka.group("g").seek(1, "t", 1)
    assert (group.lags, group.lag) == ({("t", 1): 2}, 2)


def test_lag_of_many_records_is_known_without_decoding_them(kafka: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = kafka.topic("t", partitions=2)
    for _ in range(10):
        topic.send_batch(["v"] * 5000, partition=1)
    group = kafka.group("g").seek(5000, "t", 1)
    monkeypatch.setattr(Batch, "records", None)
    assert group.lags == {("t", 1): 45000}


def test_lag_is_zero_if_only_batches_without_records_and_markers_are_left(kafka: Broker) -> None:
    kafka.topic("t", partitions=1).send("v")
    topic = kafka.topic("t", partitions=1).layout("empty_batch", first=1, size=3, after=0)
    topic.layout("only_markers", size=5000)
    assert (kafka.group("g").seek(2, "t").lags, topic.log().high_watermark) == ({("t", 0): 0}, 5005)


def test_failed_wait_describes_only_the_largest_of_many_lags(kafka: Broker) -> None:
    topic = kafka.topic("t", partitions=100)
    for partition in range(100):
        topic.send("v", partition=partition)
    topic.send("v", partition=70)
    group = kafka.group("g").seek("earliest", "t")
    with pytest.raises(AssertionError) as caught:
        group.wait_for_lag(0, timeout=0)
    lines = str(caught.value).splitlines()
    assert lines[1] == "  t-70: committed 0, end 2, lag 2"
    assert "... 80 more" in lines[21]


@pytest.mark.kafka(config={"auto.create.topics.enable": False})
def test_lag_of_topic_that_is_subscribed_but_not_assigned_counts(kafka: Broker) -> None:
    with running("aiokafka", kafka.bootstrap_servers) as app:
        kafka.group("g").wait_until_stable()
        kafka.topic("t").send("v")
        kafka.group("g").wait_for_lag(0)
        assert app.seen == [b"v"]


def test_group_of_a_stopped_coordinator_is_unknown(kafka: Broker) -> None:
    kafka.topic("t").send("v")
    group = kafka.group("g")
    assert (group.state, group.committed()) == ("Dead", {})  # there are no groups yet
    group.seek(1, "t")
    kafka.broker(1).stop()
    looks: list[Callable[[], object]] = [
        lambda: group.state,
        lambda: group.members,
        lambda: group.assignment,
        group.committed,
        lambda: group.lag,
        group.delete,
    ]
    for look in looks:
        with pytest.raises(
            KafkaError, match=r"the coordinator of g is stopped: __consumer_offsets-\d+ has no leader"
        ) as got:
            look()
        assert got.value.code is Code.COORDINATOR_NOT_AVAILABLE
    assert "COORDINATOR_NOT_AVAILABLE" in repr(group)
    waits: list[Callable[[], object]] = [
        lambda: group.wait_for_lag(0, timeout=0),
        lambda: group.wait_for_commit("t", 0, 1, timeout=0),
        lambda: group.wait_until_stable(timeout=0),
    ]
    for waiting in waits:
        with pytest.raises(AssertionError, match="the coordinator of g is stopped"):
            waiting()
    kafka.broker(1).start()
    assert group.wait_for_commit("t", 0, 1) == 1


def test_lag_is_unknown_while_a_partition_has_no_leader() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1], [2]])
        group = cluster.group("g").seek("latest", "t")
        group.wait_for_lag(0, timeout=0)
        cluster.topic("t").send("v", partition=1)
        cluster.broker(2).stop()
        with pytest.raises(KafkaError, match="group g: t-1: no leader, so the lag is unknown") as caught:
            assert group.lag
        assert caught.value.code is Code.LEADER_NOT_AVAILABLE
        with pytest.raises(AssertionError, match="  t-1: no leader, so the lag is unknown"):
            group.wait_for_lag(0, timeout=0)
        cluster.broker(2).start()
        assert group.lag == 1


def test_wait_for_lag_that_times_out_shows_members_offsets_and_lag(kafka: Broker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    group = kafka.group("g")
    is_over = threading.Event()
    with running("confluent-kafka", kafka.bootstrap_servers, client_id="slow", handle=lambda _: is_over.wait(20)):
        member = group.wait_until_stable(members=1).members[0]
        with pytest.raises(AssertionError) as caught:
            group.wait_for_lag(0, timeout=0.2)
        is_over.set()
    assert str(caught.value).splitlines()[:-1] == [
        "group g: waited 0.2 s for a lag of 0: the group is Stable and has 1 member",
        f"  member {member.member_id} (client 'slow' at 127.0.0.1): t-0",
        "  t-0: nothing committed, end 2, lag 2",
        "  clients:",
    ]


@pytest.mark.parametrize(("state", "is_explained"), [("Reconciling", True), ("Assigning", True), ("Stable", False)])
def test_description_of_a_consumer_group_that_reconciles_explains_the_heartbeats(
    state: str, is_explained: bool
) -> None:
    lines = described(Seen(state, "consumer", [], [], is_settled=state == "Stable"))
    assert ["group.consumer.heartbeat.interval.ms" in line for line in lines] == [True] * is_explained


def test_wait_for_missing_group_names_the_groups(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    kafka.group("biling").seek(0, "t")
    with pytest.raises(AssertionError, match="group billing does not exist; groups: biling"):
        kafka.group("billing").wait_for_lag(0, timeout=0)


# Members


@pytest.mark.parametrize("client", CLIENTS)
def test_members_have_client_id_host_and_assignment(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=2)
    with running(client, kafka.bootstrap_servers):
        group = kafka.group("g")
        # kafka-python first joins before it knows the partitions of the topic
        wait(
            kafka, lambda: (group.state == "Stable" and any(group.assignment.values())) or None, 10, lambda: repr(group)
        )
        [member] = group.members
        assert (member.client_id, member.host, member.instance_id) == ("app", "127.0.0.1", None)
        assert member.assignment == {("t", 0), ("t", 1)}
        assert group.assignment == {member.member_id: {("t", 0), ("t", 1)}}
        assert (group.state, group.protocol) == ("Stable", "consumer" if "/" in client else "classic")


@pytest.mark.parametrize("client", PROTOCOLS)
def test_survivor_takes_over_the_partitions_of_evicted_member(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=2)
    with killed_member(kafka, client), running(client, kafka.bootstrap_servers, client_id="survivor"):
        group = kafka.group("g")
        evicted = member_of(group, "evicted")
        # the rebalance waits for the evicted member
        wait(kafka, lambda: len(group.members) == 2 or None, 10, lambda: repr(group))
        group.evict(evicted).wait_until_stable(members=1)
        assert group.assignment == {member_of(group, "survivor"): {("t", 0), ("t", 1)}}


@pytest.mark.parametrize("client", CLIENTS)
def test_evicted_member_that_is_alive_joins_again(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=1)
    with running(client, kafka.bootstrap_servers) as app:
        group = kafka.group("g").wait_until_stable(members=1)
        before = group.members[0].member_id
        group.evict(before).wait_until_stable(members=1)
        assert group.protocol != "classic" or before not in group.assignment
        kafka.topic("t").send("v")
        group.wait_for_lag(0)
        assert app.seen == [b"v"]


@pytest.mark.parametrize("client", PROTOCOLS)
def test_static_member_is_evicted_by_its_instance_id(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=1)
    group = kafka.group("g")
    with running(client, kafka.bootstrap_servers, **{"group.instance.id": "one"}):
        group.wait_until_stable(members=1)
        assert group.members[0].instance_id == "one"
        group.evict("one")
        assert group.state in ("Empty", "PreparingRebalance")


def test_evicting_an_unknown_member_names_the_members(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    group = kafka.group("g").seek(0, "t")
    with pytest.raises(ValueError, match="group g has no member 'x'; its members: none"):
        group.evict("x")


@pytest.mark.parametrize("client", CLIENTS)
def test_rebalance_makes_members_join_again(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=1)
    group = kafka.group("g")
    with running(client, kafka.bootstrap_servers):
        group.wait_until_stable(members=1)
        before = epoch_of(kafka)
        group.rebalance()
        assert group.state == ("Assigning" if group.protocol == "consumer" else "PreparingRebalance")
        group.wait_until_stable(members=1)
        assert epoch_of(kafka) > before


def epoch_of(kafka: Broker) -> int:
    """Return the epoch or generation of the members."""

    def look() -> int:
        shard = find_shard(kafka, "g")
        assert shard is not None
        group = shard.groups["g"]
        if isinstance(group, ConsumerGroup):
            return group.assignment_epoch
        assert isinstance(group, ClassicGroup)
        return group.generation

    return kafka._server.call(look)


def test_rebalance_without_members_raises(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    with pytest.raises(ValueError, match="group g has no members"):
        kafka.group("g").seek(0, "t").rebalance()


def test_change_of_missing_group_names_the_groups(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    kafka.group("billing").seek(0, "t")
    for change in (kafka.group("biling").rebalance, kafka.group("biling").delete):
        with pytest.raises(KafkaError, match="group biling does not exist; groups: billing") as caught:
            change()
        assert caught.value.code is Code.GROUP_ID_NOT_FOUND


def test_stable_group_of_zero_members_is_refused(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="members is 0; it must be at least 1"):
        kafka.group("g").wait_until_stable(members=0)


# Offsets


@pytest.mark.parametrize(("to", "expected"), [("earliest", 0), ("latest", 3), (2, 2), (99, 99), (TIME, 1)])
def test_seek_commits_the_offset(kafka: Broker, to: Any, expected: int) -> None:
    topic = kafka.topic("t", partitions=1)
    for number in range(3):
        topic.send("v", timestamp=NOW_MS + 1000 * number)
    assert kafka.group("g").seek(to, "t").committed() == {("t", 0): expected}


@pytest.mark.parametrize(("timestamp", "expected"), [(NOW_MS, 0), (NOW_MS + 1, 1), (NOW_MS + 5000, 3)])
def test_seek_to_timestamp_finds_the_first_record_at_or_after_it(kafka: Broker, timestamp: int, expected: int) -> None:
    topic = kafka.topic("t", partitions=1)
    for number in range(3):
        topic.send("v", timestamp=NOW_MS + 1000 * number)
    assert kafka.group("g").seek(timestamp=timestamp, topic="t").committed("t", 0) == expected


@pytest.mark.parametrize("client", CLIENTS)
def test_application_continues_at_the_offset_after_seek(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=1).send_batch(["a", "b", "c"])
    group = kafka.group("g")
    with running(client, kafka.bootstrap_servers):
        group.wait_for_lag(0)
    group.seek(1)
    with running(client, kafka.bootstrap_servers) as app:
        group.wait_for_lag(0)
        assert app.seen == [b"b", b"c"]


@pytest.mark.parametrize("client", CLIENTS)
def test_seek_of_group_with_members_is_refused_and_names_them(kafka: Broker, client: str) -> None:
    kafka.topic("t", partitions=1)
    with running(client, kafka.bootstrap_servers):
        group = kafka.group("g").wait_until_stable(members=1)
        with pytest.raises(KafkaError, match=r"cannot be moved; stop its members: .* \(client app\)") as caught:
            group.seek("earliest", "t")
        assert caught.value.code is Code.NON_EMPTY_GROUP
        with pytest.raises(KafkaError) as refused:
            group.delete()
        assert refused.value.code is Code.NON_EMPTY_GROUP


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, "seek takes an offset"),
        (("first", "t"), ValueError, "'first'; it must be a number"),
        ((-1, "t"), ValueError, r'seek\("latest"\) moves to the end'),
        ((0, None, 1), TypeError, "no topic is given"),
        ((0, "t", 5), ValueError, "partition 5 does not exist; topic t has partition 0"),
        ((0,), ValueError, "has no offsets yet; name a topic"),
        ((0, "missing"), KafkaError, "topic missing does not exist"),
    ],
)
def test_invalid_seek_is_refused_with_the_allowed_values(
    kafka: Broker, arguments: Any, error: type[Exception], message: str
) -> None:
    kafka.topic("t", partitions=1)
    with pytest.raises(error, match=message):
        kafka.group("g").seek(*arguments)


def test_offsets_after_seek_survive_a_new_coordinator() -> None:
    with Cluster(brokers=2, config={"offsets.topic.replication.factor": 2}) as kafka:
        kafka.topic("t", partitions=1)
        group = kafka.group("g").seek(7, "t")
        leader = next(node for node, each in kafka._server.brokers.items() if each.coordinators.loaded_group_shards())
        kafka.broker(leader).stop()
        assert group.committed() == {("t", 0): 7}


def test_deleted_group_is_dead(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    group = kafka.group("g").seek(7, "t")
    group.delete()
    assert (group.state, group.protocol, group.committed()) == ("Dead", "", {})


def test_wait_for_commit_returns_the_committed_offset(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    assert kafka.group("g").seek(7, "t").wait_for_commit("t", 0, 5) == 7


def test_wait_for_commit_that_times_out_shows_the_offset(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    with pytest.raises(AssertionError, match=r"waited 0 s for a commit of offset 8 in t-0: .*\n.*committed 7"):
        kafka.group("g").seek(7, "t").wait_for_commit("t", 0, 8, timeout=0)


def test_committed_of_one_partition_needs_topic_and_partition(kafka: Broker) -> None:
    with pytest.raises(TypeError, match="a topic and a partition, or neither"):
        kafka.group("g").committed("t")  # type: ignore[call-overload]
