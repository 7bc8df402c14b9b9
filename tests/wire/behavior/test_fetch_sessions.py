"""Incremental fetch sessions (KIP-227): which partitions a response contains."""

from collections.abc import Sequence
from typing import Any

import pytest

from kafkalet.protocol.errors import Code

from .client import Client, at, batch, filled, partitions

Step = dict[str, Any]


class Session:
    """A fetch session of a client, which counts its epochs."""

    def __init__(self, broker: Client, *wanted: Step, **more: Any) -> None:
        self.broker, self.epoch = broker, 0
        self.opened = broker.fetch(*wanted, session_id=0, session_epoch=0, **more)
        self.id = self.opened["session_id"]

    def fetch(self, *wanted: Step, forget: Sequence[Step] = (), **more: Any) -> Step:
        self.epoch += 1
        body = {"session_id": self.id, "session_epoch": self.epoch, "forgotten_topics_data": list(forget)}
        return self.broker.fetch(*wanted, **body | more)


def test_full_fetch_opens_a_session_and_returns_all_partitions(broker: Client) -> None:
    topic = broker.topic(2)
    session = Session(broker, at(topic), at(topic, 0, 1))
    assert session.id > 0
    assert partitions(session.opened) == [(topic, 0), (topic, 1)]


def test_fetch_without_session_opens_no_session(broker: Client) -> None:
    """id 0 and epoch -1."""
    assert broker.fetch(at(broker.topic()), session_id=0, session_epoch=-1)["session_id"] == 0


def test_unchanged_partition_is_left_out(broker: Client) -> None:
    """FetchSession.CachedPartition.maybeUpdateResponseData; redpanda#27749."""
    topic = broker.topic(2)
    session = Session(broker, at(topic), at(topic, 0, 1))
    broker.produced(topic, batch(10), partition=1)
    assert partitions(session.fetch()) == [(topic, 1)]


def test_records_are_returned_until_the_fetch_offset_advances(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10))
    session = Session(broker, at(topic))
    assert partitions(session.fetch()) == [(topic, 0)]
    assert partitions(session.fetch(at(topic, 1))) == []


def test_changed_log_start_offset_is_returned_once(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    session = Session(broker, at(topic, 2))
    broker.delete_records(topic, 1)
    assert partitions(session.fetch()) == [(topic, 0)]
    assert partitions(session.fetch()) == []


def test_partition_error_is_returned_every_time(broker: Client) -> None:
    topic = broker.topic()
    session = Session(broker, at(topic, 9))
    for _ in range(2):
        [said] = session.fetch()["responses"][0]["partitions"]
        assert said["error_code"] == Code.OFFSET_OUT_OF_RANGE


def test_recovered_partition_is_returned_once(broker: Client) -> None:
    """The session drops the last high watermark that it returned."""
    topic = broker.topic()
    session = Session(broker, at(topic, 9))
    assert partitions(session.fetch(at(topic, 0))) == [(topic, 0)]
    assert partitions(session.fetch()) == []


def test_forgotten_partition_is_left_out(broker: Client) -> None:
    topic = broker.topic(2)
    session = Session(broker, at(topic), at(topic, 0, 1))
    broker.produced(topic, batch(10), partition=0)
    broker.produced(topic, batch(10), partition=1)
    assert partitions(session.fetch(forget=[{"topic": topic, "partitions": [0]}])) == [(topic, 1)]


def test_partition_can_be_added(broker: Client) -> None:
    topic = broker.topic(2)
    session = Session(broker, at(topic))
    assert partitions(session.fetch(at(topic, 0, 1))) == [(topic, 1)]


def test_session_without_partitions_is_closed(broker: Client) -> None:
    """FetchSessionTest."""
    topic = broker.topic()
    session = Session(broker, at(topic))
    assert session.fetch(forget=[{"topic": topic, "partitions": [0]}])["session_id"] == 0
    assert session.fetch()["error_code"] == Code.FETCH_SESSION_ID_NOT_FOUND


def test_final_epoch_closes_the_session(broker: Client) -> None:
    session = Session(broker, at(broker.topic()))
    assert broker.fetch(session_id=session.id, session_epoch=-1)["error_code"] == 0
    assert session.fetch()["error_code"] == Code.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 7, -2])
def test_wrong_epoch_is_refused_and_the_session_stays_open(broker: Client, epoch: int) -> None:
    """sarama#1644."""
    session = Session(broker, at(broker.topic()))
    refused = broker.fetch(session_id=session.id, session_epoch=epoch)
    assert (refused["error_code"], refused["responses"]) == (Code.INVALID_FETCH_SESSION_EPOCH, [])
    assert refused["session_id"] == 0
    assert session.fetch()["error_code"] == 0


@pytest.mark.parametrize("session_id", [0, 123456789])
def test_unknown_session_id_is_not_found(broker: Client, session_id: int) -> None:
    answer = broker.fetch(session_id=session_id, session_epoch=1)
    assert (answer["error_code"], answer["session_id"]) == (Code.FETCH_SESSION_ID_NOT_FOUND, 0)


def test_session_with_topic_names_refuses_topic_ids(broker: Client) -> None:
    """FetchSessionTest: a session cannot mix names and ids."""
    session = Session(broker, at(broker.topic()))
    assert session.fetch(version=13)["error_code"] == Code.FETCH_SESSION_TOPIC_ID_ERROR


def test_partitions_with_records_move_to_the_end_of_the_session(broker: Client) -> None:
    """FetchSession.PartitionIterator: since the first incremental response."""
    topic = broker.topic(3)
    for partition in range(3):
        broker.produced(topic, filled(1, 22), partition=partition)
    wanted = [at(topic, 0, partition) for partition in range(3)]
    session = Session(broker, *wanted, max_bytes=1)

    def first(answer: Step) -> int:
        [index] = [p["partition_index"] for p in answer["responses"][0]["partitions"] if p["records"]]
        return int(index)

    assert first(session.opened) == 0
    assert [first(session.fetch(max_bytes=1)) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_session_can_be_used_from_another_connection(broker: Client) -> None:
    session = Session(broker, at(broker.topic()))
    assert session.fetch(connection="another")["error_code"] == 0


def test_session_stores_the_leader_epoch(broker: Client) -> None:
    """FetchSessionTest; KAFKA-9338."""
    topic = broker.topic()
    session = Session(broker, at(topic, current_leader_epoch=3))
    [said] = session.fetch()["responses"][0]["partitions"]
    assert said["error_code"] == Code.UNKNOWN_LEADER_EPOCH
