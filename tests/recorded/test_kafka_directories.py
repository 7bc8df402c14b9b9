"""Recorded data directories of Apache Kafka are opened, served as by Kafka, and remain usable."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.storage.log import Log

from .answers import Asker, ask_everything, differences, restore_formats, without_configuration
from .directories import Recording, load

RELEASES = ("2.8", "3.9", "4.4")
OUT_OF_ORDER_SEQUENCE_NUMBER, CONCURRENT_TRANSACTIONS = 45, 51


def opened(recording: Recording, directory: Path) -> kafkalet.Broker:
    clock = ManualClock(recording.recorded_ms)
    return kafkalet.Broker(data_dir=directory, version=recording.release, config=recording.config, clock=clock)


@pytest.mark.parametrize("release", RELEASES)
def test_directory_is_served_as_by_its_writer(release: str, tmp_path: Path) -> None:
    recording = load(release, tmp_path)
    with opened(recording, tmp_path) as broker:
        expected = recording.expected
        if release == "2.8":
            restore_formats(broker.bootstrap_servers)
        answers = ask_everything(broker.bootstrap_servers, release, recording.first_ms, thorough=False)
    if release == "2.8":
        expected, answers = [without_configuration(each) for each in expected], without_configuration(answers)
    assert len(answers) > 400
    assert differences(expected, answers) == []


class Opened(NamedTuple):
    recording: Recording
    directory: Path
    broker: kafkalet.Broker
    ask: Asker

    def log(self, topic: str) -> Log:
        """Return the log of the first partition."""
        return self.broker._server.nodes[1].partitions[topic, 0].log

    def ends(self) -> tuple[int, int]:
        """Return the last stable offset and the log end offset of the topic with transactions."""
        log = self.log("transactions")
        return log.last_stable_offset, log.log_end_offset


@pytest.fixture(params=RELEASES)
def again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """A broker on a recorded directory, which it has opened for the second time."""
    recording = load(request.param, tmp_path)
    with opened(recording, tmp_path):
        pass
    with opened(recording, tmp_path) as broker:
        asker = Asker(broker.bootstrap_servers, recording.release)
        yield Opened(recording, tmp_path, broker, asker)
        asker.close()


def produce(asker: Asker, topic: str, value: str, **batch: Any) -> dict[str, Any]:
    timestamp = batch.pop("timestamp")
    record = {"ts": timestamp, "key": None, "value": value}
    records = [{"magic": 2, "base_ts": timestamp, "max_ts": timestamp, "records": [record], **batch}]
    partition = {"index": 0, "records": records}
    answer = asker("Produce", {"transactional_id": None, "topics": [{"name": topic, "partitions": [partition]}]}, 8)
    found: dict[str, Any] = answer["responses"][0]["partitions"][0]
    return found


def test_idempotent_producer_continues(again: Opened) -> None:
    [entry] = again.log("plain").active_producers()
    assert entry.last_sequence == 59
    batch = {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "timestamp": again.recording.recorded_ms,
    }
    gap = produce(again.ask, "plain", "x", base_sequence=61, **batch)
    assert gap["error_code"] == OUT_OF_ORDER_SEQUENCE_NUMBER
    for _ in range(2):  # the second time, it is a duplicate
        added = produce(again.ask, "plain", "x", base_sequence=60, **batch)
        assert (added["error_code"], added["base_offset"]) == (0, 120)


def test_new_producer_gets_an_unused_id(again: Opened) -> None:
    answer = again.ask("InitProducerId", {"transactional_id": None, "transaction_timeout_ms": 1000}, 2)
    used = {
        producer.producer_id
        for topic in ("plain", "compacted", "transactions")
        for producer in again.log(topic).active_producers()
    }
    assert answer["error_code"] == 0
    assert answer["producer_id"] > max(used)


def test_open_transaction_ends_when_its_producer_starts_again(again: Opened) -> None:
    stable, end = again.ends()
    assert stable < end
    for name in ("open-one", "open-two"):
        body = {"transactional_id": name, "transaction_timeout_ms": 900000, "producer_id": -1, "producer_epoch": -1}
        while (answer := again.ask("InitProducerId", body, 2))["error_code"]:
            assert answer["error_code"] == CONCURRENT_TRANSACTIONS
        assert answer["producer_epoch"] > 0
    assert again.ends() == (end + 2, end + 2)  # two markers


def test_open_transaction_can_be_committed(again: Opened) -> None:
    _, end = again.ends()
    transaction = again.broker.transaction("open-one")
    body = {"transactional_id": "open-one", "producer_id": transaction.producer_id, "committed": True}
    for _ in range(2):  # the second time, it is a retry, which is refused until the markers have been written
        while (answer := again.ask("EndTxn", {**body, "producer_epoch": transaction.producer_epoch}, 2))["error_code"]:
            assert answer["error_code"] == CONCURRENT_TRANSACTIONS
    assert again.ends()[1] == end + 1


def test_consumers_resume_at_their_committed_offsets(again: Opened) -> None:
    assert again.broker.group("empty").committed() == {("plain", 0): 11, ("plain", 2): 0}
    assert again.broker.group("joined").committed() == {("plain", 1): 0}
    [member] = again.broker.group("joined").members
    body = {"group_id": "joined", "generation_id": 1, "member_id": member.member_id}
    assert again.ask("Heartbeat", body, 3)["error_code"] == 0


def test_topics_are_the_same_after_the_second_start(again: Opened) -> None:
    ids = {name: topic.topic_id for name, topic in again.broker._server.metadata.topics.items()}
    recorded = {
        question.removeprefix("Metadata of "): answer["topic_id"]
        for question, answer in again.recording.expected[0].items()
        if question.startswith("Metadata of ")
    }
    assert ids.keys() == recorded.keys()
    if again.recording.release != "2.8":
        assert {name: topic_id.hex() for name, topic_id in ids.items()} == {
            name: topic_id.replace("-", "") for name, topic_id in recorded.items()
        }
