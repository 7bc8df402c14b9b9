"""`kafkalet.broker.apis.produce`: batches that are validated in a thread, and the path of usual batches.

Most tests of Produce are in tests/wire; CONTRIBUTING.md explains which tests cover which claims.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.broker.apis import produce
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.produce import ProduceResponse
from kafkalet.protocol.records.batch import ATTRIBUTES_AT, CRC_AT
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.effort import MANY_BYTES, MANY_HEADER_BYTES, MANY_RECORDS, RECORDS_AT_ONCE
from kafkalet.protocol.records.record import Record
from kafkalet.storage import log
from tests.profile import examples
from tests.unit.storage.producing import T0, produced
from tests.wire.brokers import batch

from .asking import Asking, as_returned, asking

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "small": {"max.message.bytes": "150"},
    "two-replicas": {"min.insync.replicas": "2"},
    "gzip": {"compression.type": "gzip"},
    "missing": {},
}


def test_large_batch_for_a_partition_that_another_broker_leads_is_refused() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1]])
        partition = {"index": 0, "records": bytes(batch(bytes(MANY_BYTES)))}
        topic = {"name": "t", "partition_data": [partition]}
        answer = ask(Api.PRODUCE, 9, node=2, acks=1, timeout_ms=1000, topic_data=[topic])
        assert [each["error_code"] for each in answer["responses"][0]["partition_responses"]] == [
            Code.NOT_LEADER_OR_FOLLOWER
        ]
        assert ask.cluster.topic("t").log().log_end_offset == 0


def test_records_that_were_truncated_before_all_replicas_had_them_are_refused() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1, 2]])
        ask.cluster.hold_replication(2, "t")
        server = ask.cluster._server
        topic = {"name": "t", "partition_data": [{"index": 0, "records": bytes(batch(b"a"))}]}

        def lead_elsewhere_for_a_moment() -> Any:
            waiting = ask.begin(Api.PRODUCE, 9, acks=-1, timeout_ms=60_000, topic_data=[topic])
            for node in (2, 1):
                server.elect_leader("t", 0, node)
            return waiting

        waiting = server.call(lead_elsewhere_for_a_moment)
        answer = as_returned(Api.PRODUCE, 9, server.call(waiting.result))
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_many_short_records_are_validated_without_a_thread() -> None:
    with asking() as ask, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "in_thread", None)
        ask.cluster.topic("t").create()
        for count in (MANY_RECORDS + 1, RECORDS_AT_ONCE):
            partition = {"index": 0, "records": bytes(produced(*range(count)))}
            topic = {"name": "t", "partition_data": [partition]}
            answer = ask(Api.PRODUCE, 9, acks=1, timeout_ms=1000, topic_data=[topic])
            assert answer["responses"][0]["partition_responses"][0]["error_code"] == Code.NONE


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("partitions", [1, 2])
def test_record_with_many_headers_is_validated_in_a_thread(codec: Codec, partitions: int) -> None:
    headers = (("", b""),) * (MANY_HEADER_BYTES // 2)
    records = build_batch([Record(0, T0, None, b"v", headers)], codec=codec)
    in_thread, calls = log.in_thread, []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return in_thread(*args, **kwargs)

    with asking() as ask, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "in_thread", counted)
        ask.cluster.topic("t").create(partitions)
        data = [{"index": index, "records": records} for index in range(partitions)]
        topic = {"name": "t", "partition_data": data}
        answer = ask(Api.PRODUCE, 9, acks=1, timeout_ms=1000, topic_data=[topic])
        codes = [each["error_code"] for each in answer["responses"][0]["partition_responses"]]
    assert (codes, len(calls)) == ([Code.NONE] * partitions, partitions)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_large_record_without_many_headers_is_validated_without_a_thread(codec: Codec) -> None:
    records = build_batch([Record(0, T0, None, bytes(MANY_HEADER_BYTES), ())], codec=codec)
    with asking() as ask, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "in_thread", None)
        ask.cluster.topic("t").create(2)
        for data in ([0], [0, 1]):
            partitions = [{"index": index, "records": records} for index in data]
            topic = {"name": "t", "partition_data": partitions}
            answer = ask(Api.PRODUCE, 9, acks=1, timeout_ms=1000, topic_data=[topic])
            codes = [each["error_code"] for each in answer["responses"][0]["partition_responses"]]
            assert codes == [Code.NONE] * len(data)


def test_batch_of_an_open_transaction_is_appended_without_a_coroutine() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        server = ask.cluster._server
        first, second = (
            produced(0, producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)
            for sequence in (0, 1)
        )
        server.call(lambda: server.nodes[1].partition("t", 0).append(first))
        topic = {"name": "t", "partition_data": [{"index": 0, "records": bytes(second)}]}
        fields = {"transactional_id": "x", "acks": -1, "timeout_ms": 0, "topic_data": [topic]}
        answer = server.call(lambda: ask.begin(Api.PRODUCE, 9, **fields))
        assert isinstance(answer, ProduceResponse)
        assert answer.responses[0].partition_responses[0].base_offset == 1


@pytest.fixture(scope="module")
def two_brokers() -> Iterator[tuple[Asking, Asking]]:
    """Return two brokers with the same topics, except that the topic "missing" does not exist."""
    with asking(clock=ManualClock(T0)) as first, asking(clock=ManualClock(T0)) as second:
        for ask in (first, second):
            for name, config in TOPICS.items():
                if name != "missing":
                    ask.cluster.topic(name).create(config=config)
        yield first, second


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Return the fields of a Produce request; most of them have one batch, and some of these are invalid."""
    topics = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 1, 2]))):
        records = bytearray()
        for _ in range(draw(st.sampled_from([1, 1, 1, 1, 0, 2]))):
            records += draw(sent_batches())
        partition = {"index": draw(st.sampled_from([0, 0, 0, 0, 1])), "records": bytes(records)}
        topics.append({"name": draw(st.sampled_from(list(TOPICS))), "partition_data": [partition]})
    return {
        "transactional_id": draw(st.sampled_from([None, None, None, "t"])),
        "acks": draw(st.sampled_from([-1, -1, -1, 1, 2])),
        "timeout_ms": 0,
        "topic_data": topics,
    }


@st.composite
def sent_batches(draw: st.DrawFn) -> bytes:
    records: list[Any] = draw(st.lists(st.integers(-5, 300), min_size=1, max_size=40))
    data = produced(
        *records,
        codec=draw(st.sampled_from(["none", "none", "none", "gzip"])),
        **draw(
            st.sampled_from(
                [{}, {}, {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}, {"transactional": True}]
            )
        ),
    )
    if draw(st.integers(0, 3)) == 0:  # change a byte of the header, the records or the end, and often the checksum
        at = draw(st.one_of(st.integers(8, 60), st.integers(0, len(data) - 1)))
        data[at] = draw(st.integers(0, 255))
        if draw(st.booleans()):
            struct.pack_into(">I", data, CRC_AT, crc32c(bytes(data[ATTRIBUTES_AT:])))
    return bytes(data) if draw(st.integers(0, 5)) else bytes(data[: draw(st.integers(0, len(data)))])


def _outcome(ask: Asking, version: int, fields: dict[str, Any]) -> Any:
    try:
        return ask(Api.PRODUCE, version, **fields)
    except KafkaError as error:
        return error.code, error.message


@settings(max_examples=examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(version=st.sampled_from([9, 9, 9, 3, 7, 12]), fields=requests(), takes_long=st.booleans())
def test_usual_batch_gets_the_same_response_and_log_as_on_the_general_path(
    two_brokers: tuple[Asking, Asking], version: int, fields: dict[str, Any], takes_long: bool
) -> None:
    first, second = two_brokers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(produce, "may_take_long", lambda records: takes_long)
        answer = _outcome(first, version, fields)
        patch.undo()
        patch.setattr(produce, "is_usual_batch", lambda records, version: False)
        assert _outcome(second, version, fields) == answer
    for name in {topic["name"] for topic in fields["topic_data"]} - {"missing"}:
        logs = [ask.cluster._server.nodes[1].partition(name, 0).log for ask in two_brokers]
        assert logs[0].log_end_offset == logs[1].log_end_offset
        assert _stored(logs[0].directory) == _stored(logs[1].directory)


def _stored(directory: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(directory).glob("*.log")}
