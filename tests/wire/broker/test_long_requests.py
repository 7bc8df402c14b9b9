"""Slow requests: other requests are served meanwhile, and nothing is lost, mixed up or left behind."""

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafkalet.broker.apis import produce as produce_api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.interruption import Interrupted, check
from kafkalet.storage import log as log_module
from tests.wire.brokers import Closed, Wire, batch, on_the_wire

TIMEOUT_S = 60


class Gate:
    """Makes the first batch slow: holds it in its worker thread until the test opens the gate."""

    def __init__(self) -> None:
        self.opened, self.reached, self.interrupted = threading.Event(), threading.Event(), threading.Event()

    def takes_long(self, records: bytes) -> bool:
        return not self.reached.is_set()

    def wait(self) -> None:
        self.reached.set()
        try:
            while not self.opened.wait(0.001):
                check()
        except Interrupted:
            self.interrupted.set()
            raise


@contextmanager
def gated(**options: Any) -> Iterator[tuple[Wire, Gate]]:
    """Run a broker whose first batch waits at a gate."""
    gate = Gate()
    validate = log_module.validate

    def held(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread().name.startswith("kafkalet-worker"):
            gate.wait()
        return validate(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, on_the_wire(**options) as wire:
        patch.setattr(produce_api, "may_take_long", gate.takes_long)
        patch.setattr(log_module, "may_be_quick", lambda records: False)
        patch.setattr(log_module, "validate", held)
        try:
            yield wire, gate
        finally:
            gate.opened.set()


def send(wire: Wire, records: bytes, name: str = "long", **more: Any) -> tuple[Any, int]:
    connection = wire.connection(1, name)
    return connection, connection.send("Produce", 9, wire.produce_body(records, **more))


def first_values(wire: Wire, topic: str = "t") -> list[bytes | None]:
    records = wire.cluster.topic(topic).log().batches
    return [record.value for entry in records for record in entry.records()]


def test_other_requests_are_served_while_batch_is_validated() -> None:
    with gated() as (wire, gate):
        connection, sent = send(wire, batch(b"long"))
        assert gate.reached.wait(TIMEOUT_S)
        assert wire.produce(batch(b"short"))["base_offset"] == 0
        assert wire.fetch()["high_watermark"] == 1
        gate.opened.set()
        answer = connection.receive(sent, TIMEOUT_S)["responses"][0]["partitions"][0]
        assert (answer["error_code"], answer["base_offset"]) == (0, 1)
        assert first_values(wire) == [b"short", b"long"]


def test_later_requests_of_the_connection_wait_for_slow_one() -> None:
    with gated() as (wire, gate):
        connection, first = send(wire, batch(b"long"))
        second = connection.send("Produce", 9, wire.produce_body(batch(b"next")))
        assert gate.reached.wait(TIMEOUT_S)
        assert not connection.has_answer(second, 0.05)
        gate.opened.set()
        connection.receive(first, TIMEOUT_S)
        assert connection.receive(second, TIMEOUT_S)["responses"][0]["partitions"][0]["base_offset"] == 1


def test_batches_with_acks_0_are_appended_after_producer_disconnects() -> None:
    with gated() as (wire, gate):
        connection, _ = send(wire, batch(b"long"), acks=0)
        connection.send("Produce", 9, wire.produce_body(batch(b"behind it"), acks=0))
        assert gate.reached.wait(TIMEOUT_S)
        connection.socket.close()
        gate.opened.set()
        wire.until(lambda: wire.cluster.topic("t").log().log_end_offset == 2)
        assert first_values(wire) == [b"long", b"behind it"]


def test_validation_is_interrupted_when_producer_that_waits_disconnects() -> None:
    with gated() as (wire, gate):
        connection, _ = send(wire, batch(b"long"))
        assert gate.reached.wait(TIMEOUT_S)
        connection.socket.close()
        assert gate.interrupted.wait(TIMEOUT_S)
        assert wire.log().log_end_offset == 0
        assert wire.produce(batch(b"next"))["base_offset"] == 0


@pytest.mark.parametrize("acks", [0, 1])
def test_stop_interrupts_validation(acks: int) -> None:
    with gated() as (wire, gate):
        send(wire, batch(b"long"), acks=acks)
        assert gate.reached.wait(TIMEOUT_S)
        wire.cluster._server.host.stop_thread()
        assert gate.interrupted.is_set()


def test_produce_to_topic_deleted_during_validation_fails() -> None:
    with gated() as (wire, gate):
        connection, sent = send(wire, batch(b"long"))
        assert gate.reached.wait(TIMEOUT_S)
        wire.cluster.topic("t").delete()
        gate.opened.set()
        answer = connection.receive(sent, TIMEOUT_S)["responses"][0]["partitions"][0]
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_produce_fails_if_leader_changes_during_validation() -> None:
    with gated(brokers=2) as (wire, gate):
        leader = wire.cluster._server.metadata.partition("t", 0).leader  # type: ignore[union-attr]
        connection = wire.connection(leader, "long")
        sent = connection.send("Produce", 9, wire.produce_body(batch(b"long")))
        assert gate.reached.wait(TIMEOUT_S)
        wire.cluster.topic("t").move_leader(3 - leader)
        gate.opened.set()
        answer = connection.receive(sent, TIMEOUT_S)["responses"][0]["partitions"][0]
        assert answer["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_stopping_broker_closes_connections_with_slow_requests() -> None:
    with gated(brokers=2) as (wire, gate):
        leader = wire.cluster._server.metadata.partition("t", 0).leader  # type: ignore[union-attr]
        connection = wire.connection(leader, "long")
        connection.send("Produce", 9, wire.produce_body(batch(b"long")))
        assert gate.reached.wait(TIMEOUT_S)
        wire.cluster.broker(leader).stop()
        gate.opened.set()
        with pytest.raises(Closed):
            connection.receive_frame(time.monotonic() + TIMEOUT_S)
        assert wire.cluster.topic("t").log().log_end_offset == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("config", [{}, {"message.timestamp.type": "LogAppendTime"}, {"compression.type": "gzip"}])
def test_slow_batch_appended_after_others_has_valid_offsets_and_checksum(codec: Codec, config: dict[str, str]) -> None:
    with gated(topic_config=config) as (wire, gate):
        rows = ((1000 + n, None, b"long %d" % n, ()) for n in range(5))
        connection, sent = send(wire, build_batch(numbered(rows), codec=codec))
        assert gate.reached.wait(TIMEOUT_S)
        wire.produce(batch(b"short"))
        gate.opened.set()
        connection.receive(sent, TIMEOUT_S)
        entries = wire.cluster.topic("t").log().batches
        for entry in entries:
            entry.check_crc()
        assert [entry.base_offset for entry in entries] == [0, 1]
        assert [record.offset for entry in entries for record in entry.records()] == list(range(6))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_slow_message_set_appended_after_others_has_valid_offsets(magic: int, codec: Codec) -> None:
    config = {"message.format.version": "0.9.0" if magic == 0 else "0.10.0"}
    with gated(version="2.8", topic_config=config) as (wire, gate):
        rows = [(1000 + n, None, b"long %d" % n, ()) for n in range(5)]
        records = build_message_set(magic, numbered(rows), codec=codec)
        connection = wire.connection(1, "long")
        sent = connection.send("Produce", 2, wire.produce_body(records, version=2))
        assert gate.reached.wait(TIMEOUT_S)
        wire.produce(build_message_set(magic, numbered([(1, None, b"x", ())])), version=2)
        gate.opened.set()
        assert connection.receive(sent, TIMEOUT_S)["responses"][0]["partitions"][0]["base_offset"] == 1
        entries = wire.cluster.topic("t").log().batches
        assert [record.offset for entry in entries for record in entry.records()] == list(range(6))


def test_corrupt_batch_validated_in_thread_is_rejected() -> None:
    with gated() as (wire, gate):
        gate.opened.set()
        broken = bytearray(batch(b"long"))
        broken[-2] ^= 1
        assert wire.produce(broken)["error_code"] == Code.CORRUPT_MESSAGE
        assert wire.cluster.topic("t").log().log_end_offset == 0


def test_lookup_in_batch_of_many_records_finds_exact_offset() -> None:
    with on_the_wire() as wire:
        rows = ((1000 + n, None, None, ()) for n in range(50_000))
        wire.produce(build_batch(numbered(rows), codec=Codec.GZIP))
        assert wire.list_offset(1000 + 49_999)["offset"] == 49_999
        assert wire.list_offset(1000 + 25_000)["offset"] == 25_000
        assert wire.list_offset(-3)["offset"] == 49_999
        assert wire.list_offset(1000 + 50_000)["offset"] == -1


def test_large_undecodable_request_closes_connection_and_logs_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with on_the_wire() as wire:
        connection = wire.connection(1, "large")
        header = b"\0\x03\0\x05\0\0\0\1\0\1x"  # Metadata v5
        connection.send_frame(header + b"\0\x0f\xff\xff" + b"\xff" * 300_000)
        with pytest.raises(Closed):
            connection.receive_frame(time.monotonic() + TIMEOUT_S)
        assert wire.fetch()["error_code"] == 0
    assert "closed;" in caplog.text
    assert "Traceback" not in caplog.text


def test_large_request_is_answered() -> None:
    with on_the_wire() as wire:
        topics = [{"name": f"missing-{number:06}"} for number in range(20_000)]
        body = {"topics": topics, "allow_auto_topic_creation": False}
        answer = wire.ask("Metadata", 5, body)
        assert [topic["error_code"] for topic in answer["topics"]] == [3] * 20_000


def test_fetch_of_many_partitions_reads_all() -> None:
    with on_the_wire() as wire:
        wire.cluster.topic("wide").create(300)
        for index in (0, 150, 299):
            wire.produce(batch(b"%d" % index), topic="wide", index=index)
        partitions = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1000} for n in range(300)]
        body = {"max_wait_ms": 0, "min_bytes": 0, "topics": [{"topic": "wide", "partitions": partitions}]}
        [topic] = wire.ask("Fetch", 12, body)["responses"]
        assert [each["partition_index"] for each in topic["partitions"] if each["high_watermark"] == 1] == [0, 150, 299]


def test_fetch_of_many_partitions_completes_when_one_gets_a_record() -> None:
    with on_the_wire() as wire:
        wire.cluster.topic("wide").create(300)
        partitions = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1000} for n in range(300)]
        body = {"max_wait_ms": 60_000, "min_bytes": 1, "topics": [{"topic": "wide", "partitions": partitions}]}
        with wire.waiting("Fetch", 12, body) as receive:
            wire.produce(batch(b"x"), topic="wide", index=123)
            [topic] = receive()["responses"]
        assert [each["partition_index"] for each in topic["partitions"] if each["high_watermark"] == 1] == [123]


def test_down_conversion_of_large_batch_returns_every_record() -> None:
    with on_the_wire(topic_config={"max.message.bytes": "10000000"}) as wire:
        content = [b"%d" % number * 20 for number in range(20_000)]
        wire.produce(build_batch(numbered((1000, None, value, ()) for value in content)))
        answer = wire.ask("Fetch", 3, wire.fetch_body(version=3, partition_max_bytes=10_000_000, max_bytes=10_000_000))
        records = answer["responses"][0]["topics"] if "topics" in answer["responses"][0] else answer["responses"]
        messages = records[0]["partitions"][0]["records"]
        assert len(messages) == 20_000


def test_gzip_batch_of_a_hundred_megabytes_is_accepted() -> None:
    with on_the_wire(topic_config={"max.message.bytes": "10000000"}) as wire:
        payload = build_batch(numbered([(1000, None, bytes(100 << 20), ())]), codec=Codec.GZIP)
        assert len(payload) < 1 << 20
        assert wire.produce(payload)["error_code"] == 0
        [entry] = wire.cluster.topic("t").log().batches
        assert len(gzip.decompress(bytes(entry.view()[61:]))) > 100 << 20
        assert next(batches(bytes(entry.view()))).count == 1


def test_create_topics_in_several_steps_returns_every_topic() -> None:
    with on_the_wire(topics=[]) as wire:
        topics = [
            {"name": f"made-{number}", "num_partitions": 20, "replication_factor": 1, "assignments": [], "configs": []}
            for number in range(10)
        ]
        topics.append({**topics[0], "name": "made-0"})
        topics.append({**topics[0], "name": "not allowed"})
        answer = wire.ask("CreateTopics", 5, {"topics": topics, "timeout_ms": 10_000})["topics"]
        assert [(topic["name"], topic["error_code"]) for topic in answer] == [
            *((f"made-{number}", 0) for number in range(1, 10)),
            ("not allowed", Code.INVALID_TOPIC_EXCEPTION),
            ("made-0", Code.INVALID_REQUEST),
        ]
        assert len(wire.cluster._server.metadata.topics) == 1 + 9
