"""Tests of the share groups of the test kit: what a test does to a worker that shares records with others."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

import kafkalet.aio
from kafkalet import Broker, Clock, Cluster
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.report import report
from kafkalet.testing.share_group import ShareGroup

from .share_worker import ACCEPT, ALICE, BOB, QUICK, RELEASE, Acquired, Worker, states, worker


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(topics=["t"], config=QUICK) as broker:
        broker.share_group("jobs").configure({"share.auto.offset.reset": "earliest"})
        yield broker


@pytest.fixture
def jobs(kafka: Broker) -> ShareGroup:
    return kafka.share_group("jobs")


@pytest.fixture
def alice(kafka: Broker) -> Iterator[Worker]:
    with worker(kafka, ALICE) as member:
        yield member


# The four situations of at-least-once consumption


def test_record_is_delivered_again_when_its_lock_has_expired(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    assert alice.fetch() == [Acquired(0, 0, 1)]
    assert jobs.expire_locks() == 1
    with worker(kafka, BOB) as bob:
        assert bob.fetch() == [Acquired(0, 0, 2)]
        assert alice.acknowledge(ACCEPT, 0) == Code.INVALID_RECORD_STATE
        assert bob.acknowledge(ACCEPT, 0) == Code.NONE
    [record] = jobs.wait_for(acknowledged=1).records()
    assert (record.state, record.deliveries) == ("acknowledged", 2)


def test_poison_record_is_archived_after_the_limit_of_deliveries(
    kafka: Broker, jobs: ShareGroup, alice: Worker
) -> None:
    jobs.configure({"share.delivery.count.limit": 2})
    kafka.topic("t").send_batch(["poison", "good"])
    for delivery in (1, 2):
        assert alice.fetch(max_records=1) == [Acquired(0, 0, delivery)]
        alice.acknowledge(RELEASE, 0)
    assert alice.fetch() == [Acquired(1, 1, 1)]
    alice.acknowledge(ACCEPT, 1)
    assert [each.value for each in jobs.wait_for(archived=1, acknowledged=1).records("archived")] == [b"poison"]
    assert (jobs.deliveries("t", 0, 0), jobs.lag, jobs.start_offset("t")) == (2, 0, 2)


def test_advanced_clock_expires_locks_and_members_stay(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    kafka.clock.advance(seconds=29)
    assert states(jobs) == [("acquired", 1, ALICE)]
    kafka.clock.advance(seconds=1)
    assert states(jobs) == [("available", 1, None)]
    assert len(jobs.members) == 1


def test_advanced_sessions_remove_members(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.clock.advance(minutes=1, sessions=True)
    assert (jobs.state, jobs.members) == ("Empty", [])


def test_frozen_clock_expires_locks() -> None:
    with Broker(topics=["t"], clock=Clock.frozen(), config=QUICK) as kafka:
        jobs = kafka.share_group("jobs").configure({"share.auto.offset.reset": "earliest"})
        with worker(kafka, ALICE) as alice:
            kafka.topic("t").send("one")
            alice.fetch()
            kafka.clock.advance(seconds=30)
            assert states(jobs) == [("available", 1, None)]


# Waits


def test_wait_returns_when_another_thread_has_acknowledged(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b", "c"])
    alice.fetch()
    thread = threading.Thread(target=alice.acknowledge, args=(ACCEPT, 0, 2))
    thread.start()
    assert jobs.wait_for(acknowledged=3) is jobs
    thread.join()


def test_failed_wait_names_members_and_records(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    with pytest.raises(AssertionError) as error:
        jobs.wait_for(acknowledged=1, timeout=0)
    lines = str(error.value).splitlines()
    assert lines[0] == "share group jobs: waited 0 s for 1 acknowledged record: the group is Stable and has 1 member"
    assert lines[1].startswith("  member alice (client ")
    assert lines[2:4] == [
        "  t-0: start offset 0, end 1, lag 1, 1 acquired",
        "  <t-0@0 value=b'one'>: acquired by alice, delivered 1 time",
    ]


def test_wait_for_lag_ends_with_the_last_acknowledgement(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    alice.fetch()
    alice.acknowledge(ACCEPT, 1)
    assert jobs.wait_for_lag(1).lag == 1
    with pytest.raises(AssertionError, match="for a lag of 0"):
        jobs.wait_for_lag(timeout=0)
    alice.acknowledge(ACCEPT, 0)
    assert jobs.wait_for_lag().lag == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "takes a number of records"),
        ({"acknowledged": 0}, "acknowledged is 0; it must be at least 1"),
        ({"archived": "1"}, "archived must be an int"),
    ],
)
def test_wait_for_nothing_is_refused(jobs: ShareGroup, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        jobs.wait_for(**options)


def test_group_is_stable_when_all_members_have_partitions(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    jobs.wait_until_stable(members=1)
    assert jobs.assignment == {ALICE: {("t", 0)}}
    bob = Worker(kafka, BOB)
    bob.beat()
    with pytest.raises(AssertionError, match="next heartbeats"):
        jobs.wait_until_stable(members=2, timeout=0)
    alice.beat()
    bob.beat()
    jobs.wait_until_stable(members=2)
    bob.wire.close()


def test_settle_waits_for_the_lag_of_a_share_group(kafka: Broker, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    with pytest.raises(AssertionError, match=r"share group jobs: Stable, lag 1"):
        kafka.settle(timeout=0)
    alice.acknowledge(ACCEPT, 0)
    kafka.settle()


# Changes


def test_locks_of_one_member_expire(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    alice.fetch(max_records=1)
    with worker(kafka, BOB) as bob:
        bob.fetch()
        assert jobs.expire_locks(member_id=BOB) == 1
        assert jobs.expire_locks("other") == 0
        assert states(jobs) == [("acquired", 1, ALICE), ("available", 1, None)]


def test_evicted_member_keeps_its_locks(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    jobs.evict(ALICE)
    assert (jobs.members, states(jobs)) == ([], [("acquired", 1, ALICE)])
    assert alice.beat()["error_code"] == Code.UNKNOWN_MEMBER_ID
    with pytest.raises(ValueError, match="share group jobs has no member 'alice'; its members: none"):
        jobs.evict(ALICE)


def test_records_of_a_closed_connection_are_available(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    alice.wire.close()
    jobs.wait_for(available=1)
    assert states(jobs) == [("available", 1, None)]


def test_seek_delivers_records_again(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b", "c"])
    alice.fetch()
    alice.acknowledge(ACCEPT, 0, 2)
    with pytest.raises(KafkaError) as error:
        jobs.seek("earliest")
    assert error.value.code is Code.NON_EMPTY_GROUP
    alice.leave()
    assert states(jobs.seek(1)) == [("acknowledged", 1, None), ("available", 0, None), ("available", 0, None)]
    with worker(kafka, BOB) as bob:
        assert bob.fetch() == [Acquired(1, 2, 1)]


def test_seek_creates_a_group(kafka: Broker) -> None:
    kafka.topic("t").send_batch(["a", "b", "c"])
    new = kafka.share_group("new").seek("latest", "t")
    assert (new.state, new.start_offsets, new.lag) == ("Empty", {("t", 0): 3}, 0)
    assert [group.group_id for group in kafka.share_groups()] == ["new"]


def test_seek_in_a_cluster_waits_for_the_replicas() -> None:
    with Cluster(brokers=3, topics={"t": 2}, config=QUICK) as kafka:
        group = kafka.share_group("jobs").seek(7, "t")
        assert group.start_offsets == {("t", 0): 7, ("t", 1): 7}
        group.seek(8, "t", 1).delete()
        assert kafka.share_groups() == []


def test_deleted_group_is_dead(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    with pytest.raises(KafkaError) as error:
        jobs.delete()
    assert error.value.code is Code.NON_EMPTY_GROUP
    alice.leave()
    jobs.delete()
    assert (jobs.state, jobs.records(), kafka.share_groups()) == ("Dead", [], [])
    with pytest.raises(KafkaError, match="share group jobs does not exist; share groups: none"):
        jobs.delete()


def test_share_groups_and_consumer_groups_are_separate(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.group("readers").seek(0, "t")
    assert [group.group_id for group in kafka.groups()] == ["readers"]
    assert [group.group_id for group in kafka.share_groups()] == ["jobs"]
    assert (kafka.group("jobs").state, kafka.share_group("readers").state) == ("Dead", "Dead")
    with pytest.raises(AssertionError, match=r'jobs is a share group; use kafka.share_group\("jobs"\)'):
        kafka.group("jobs").wait_for_lag(timeout=0)
    with pytest.raises(KafkaError, match=r'jobs is a share group; use kafka.share_group\("jobs"\)'):
        kafka.group("jobs").delete()
    with pytest.raises(AssertionError, match=r'readers is a consumer group; use kafka.group\("readers"\)'):
        kafka.share_group("readers").wait_for_lag(timeout=0)


def test_invalid_config_changes_nothing(jobs: ShareGroup) -> None:
    with pytest.raises(KafkaError) as error:
        jobs.configure({"share.auto.offset.reset": "sometimes", "share.isolation.level": "read_committed"})
    assert error.value.code is Code.INVALID_CONFIG
    assert jobs.config == {"share.auto.offset.reset": "earliest"}


@pytest.mark.parametrize(
    ("api", "options"), [("ShareFetch", {"topic": "t"}), ("ShareAcknowledge", {}), ("ShareGroupHeartbeat", {})]
)
def test_requests_of_share_groups_can_fail(kafka: Broker, alice: Worker, api: str, options: dict[str, Any]) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    with kafka.fault(api, error="COORDINATOR_NOT_AVAILABLE", group="jobs", times=1, **options):
        body = {
            "ShareFetch": lambda: alice.wire.ask("ShareFetch", 2, alice.fetch_body()),
            "ShareAcknowledge": lambda: alice.acknowledge_answer(ACCEPT, 0),
            "ShareGroupHeartbeat": alice.beat,
        }[api]()
        assert Code.COORDINATOR_NOT_AVAILABLE in (body["error_code"], *codes(body))


def codes(answer: dict[str, Any]) -> list[int]:
    """Return the error codes of the partitions."""
    return [
        partition["error_code"] for topic in answer.get("responses", ()) for partition in topic.get("partitions", ())
    ]


# A client


def test_share_consumer_gets_a_record_again_after_its_lock_has_expired(kafka: Broker, jobs: ShareGroup) -> None:
    kafka.topic("t").send("one")
    settings = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": "jobs",
        "share.acknowledgement.mode": "explicit",
    }
    with confluent_kafka.ShareConsumer(settings) as consumer:
        consumer.subscribe(["t"])
        [first] = polled(consumer)
        assert jobs.expire_locks() == 1
        consumer.acknowledge(first)
        consumer.commit_sync()
        [second] = polled(consumer)
        assert second.value() == first.value()
        consumer.acknowledge(second)
        consumer.commit_sync()
    [record] = jobs.wait_for(acknowledged=1).records()
    assert record.deliveries == 2


def polled(consumer: Any) -> list[Any]:
    messages: list[Any] = []
    while not messages:
        messages = list(consumer.poll(1.0))
    return messages


async def _records_in_loop() -> list[tuple[str, int]]:
    async with kafkalet.aio.Broker(topics=["t"]) as kafka:
        group = kafka.share_group("jobs")
        await group.configure({"share.auto.offset.reset": "earliest"})
        await group.seek("earliest", "t")
        await kafka.topic("t").send("one")
        await group.wait_for(available=1)
        return [(each.state, each.deliveries) for each in await group.records()]


def test_share_group_is_mirrored_for_asyncio() -> None:
    assert asyncio.run(_records_in_loop()) == [("available", 0)]


def test_report_of_a_failed_test_shows_share_groups(kafka: Broker, alice: Worker) -> None:
    kafka.topic("t").send("one")
    alice.fetch()
    text = report(kafka, [])
    assert "  jobs: share group, Stable, members: " in text
    assert "    t-0: start offset 0, end 1, lag 1, 1 acquired" in text


def test_share_group_says_what_it_is(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    assert repr(jobs) == "<share group jobs: Stable, 1 member, lag 1>"
    assert repr(kafkalet.Broker().share_group("jobs")).startswith("<share group jobs: ")
