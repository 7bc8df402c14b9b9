"""Tests of the state of records in share groups: deliveries, locks, and how deliveries ended."""

from collections.abc import Iterator

import pytest

from kafkalet import Broker
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.share_group import ShareGroup

from .share_worker import ACCEPT, ALICE, QUICK, REJECT, RELEASE, Worker, states, worker


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


def test_records_have_the_state_that_the_group_gave_them(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(list("abcde"))
    alice.fetch(max_records=4)
    alice.acknowledge(ACCEPT, 0)
    alice.acknowledge(REJECT, 1)
    alice.acknowledge(RELEASE, 2)
    assert states(jobs) == [
        ("acknowledged", 1, None),
        ("archived", 1, None),
        ("available", 1, None),
        ("acquired", 1, ALICE),
        ("available", 0, None),
    ]
    assert [each.value for each in jobs.records("available")] == [b"c", b"e"]
    assert (jobs.start_offsets, jobs.lags) == ({("t", 0): 2}, {("t", 0): 3})


def test_records_of_another_topic_are_left_out(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send("one")
    assert (len(jobs.records(topic="t")), jobs.records(topic="other")) == (1, [])


def test_outcomes_are_known_after_all_members_have_left(kafka: Broker, jobs: ShareGroup) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    with worker(kafka, ALICE) as alice:
        alice.fetch()
        alice.acknowledge(ACCEPT, 0, 1)
        alice.leave()
    assert states(jobs) == [("acknowledged", 1, None)] * 2
    assert (jobs.state, jobs.start_offset("t"), jobs.lag) == ("Empty", 2, 0)


def test_outcomes_are_known_after_a_restart_of_the_broker(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b", "c"])
    alice.fetch()
    alice.acknowledge(ACCEPT, 0)
    alice.acknowledge(REJECT, 1)
    kafka.broker(1).stop()
    with pytest.raises(KafkaError) as error:
        jobs.records()
    assert error.value.code is Code.COORDINATOR_NOT_AVAILABLE
    kafka.broker(1).start()
    # An acquired record is not stored: it is as if it had not been delivered.
    assert states(jobs) == [("acknowledged", 1, None), ("archived", 1, None), ("available", 0, None)]


def test_restored_snapshot_has_outcomes_and_no_locks(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    alice.fetch()
    alice.acknowledge(ACCEPT, 0)
    snapshot = kafka.snapshot()
    kafka.reset()
    assert kafka.share_groups() == []
    kafka.restore(snapshot)
    assert states(jobs) == [("acknowledged", 1, None), ("available", 0, None)]


def test_deleted_records_are_left_out(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    topic = kafka.topic("t")
    topic.send_batch(["a", "b", "c"])
    alice.fetch()
    alice.acknowledge(ACCEPT, 0)
    topic.delete_records(2)
    assert [each.value for each in jobs.records()] == [b"c"]


def test_unknown_state_is_refused(jobs: ShareGroup) -> None:
    with pytest.raises(ValueError, match="'acquired'"):
        jobs.records("aquired")  # type: ignore[arg-type]


def test_group_without_offsets_begins_where_its_config_says(kafka: Broker, jobs: ShareGroup, alice: Worker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    assert (jobs.start_offset("t"), jobs.lag) == (None, 2)
    jobs.configure({"share.auto.offset.reset": None})
    assert (jobs.config, jobs.lag, jobs.records()) == ({}, 0, [])
