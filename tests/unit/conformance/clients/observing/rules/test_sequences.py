"""Sequence numbers of idempotent producers."""

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkalet.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalet.protocol.records.batch import ATTRIBUTES_AT, CRC_AT, HEADER_SIZE
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.record import Headers
from kafkalet_conformance.clients.observing.rules.sequences import InFlight, SequenceNumbers

from .synthetic import Exchanges

ASK = ApiVersionsRequest(client_software_name="c", client_software_version="1")


def produce(
    sequence: int,
    count: int = 2,
    *,
    epoch: int = 0,
    producer_id: int = 9,
    value: bytes = b"v",
    key: bytes | None = None,
    headers: Headers = (),
    timestamp: int = 1000,
    codec: Codec = Codec.NONE,
) -> ProduceRequest:
    batch = build_batch(
        numbered([(timestamp, key, value, headers)] * count),
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    return ProduceRequest(
        acks=-1, timeout_ms=1, topic_data=[ProduceRequest.Topic(name="t", partition_data=[partition])]
    )


def answer(error: Code = Code.NONE) -> ProduceResponse:
    partition = ProduceResponse.Topic.Partition(index=0, error_code=error, base_offset=0)
    return ProduceResponse(responses=[ProduceResponse.Topic(name="t", partition_responses=[partition])])


def begun() -> Exchanges:
    exchanges = Exchanges(SequenceNumbers())
    exchanges.ask(ASK, 3, ApiVersionsResponse(api_keys=[]))
    given = InitProducerIdResponse(producer_id=9, producer_epoch=0)
    exchanges.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 1, given)
    return exchanges


def test_consecutive_sequences_are_correct() -> None:
    exchanges = begun()
    for sequence in (0, 2, 4):
        exchanges.ask(produce(sequence), 7, answer())
    assert exchanges.found == []


def test_gap_is_found() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer())
    exchanges.sends(produce(3), 7)
    assert exchanges.found == ["sequence-consecutive"]
    assert exchanges.texts == ["partition 0 of producer 9, epoch 0: base sequence 3 is sent; 2 comes next"]


def test_overlap_is_found() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer())
    exchanges.sends(produce(1), 7)
    assert exchanges.found == ["sequence-consecutive"]


def test_sequence_0_follows_the_largest_one() -> None:
    exchanges = Exchanges(SequenceNumbers())
    exchanges.sends(produce((1 << 31) - 2), 7)
    exchanges.sends(produce(0), 7)
    assert exchanges.found == []


def test_identical_batch_may_be_sent_again() -> None:
    exchanges = begun()
    for sequence in (0, 2, 4):
        exchanges.sends(produce(sequence), 7)
    for sequence in (0, 2, 4, 6):
        exchanges.sends(produce(sequence), 7, connection=2)
    assert exchanges.found == []


@pytest.mark.parametrize(
    "other",
    [produce(0, value=b"w"), produce(0, key=b"k"), produce(0, headers=(("h", b"1"),))],
    ids=["value", "key", "headers"],
)
def test_other_records_with_the_same_sequences_are_found(other: ProduceRequest) -> None:
    exchanges = begun()
    exchanges.sends(produce(0), 7)
    exchanges.sends(other, 7)
    assert exchanges.found == ["sequence-resent"]
    assert exchanges.texts[0].endswith("sequence 0 is sent again with other keys, values or headers")


@pytest.mark.parametrize(
    "again", [produce(0, timestamp=2000), produce(0, codec=Codec.GZIP)], ids=["timestamps", "codec"]
)
def test_same_records_in_other_bytes_are_noted(again: ProduceRequest) -> None:
    exchanges = begun()
    exchanges.sends(produce(0), 7)
    exchanges.sends(again, 7)
    exchanges.sends(produce(2), 7)
    assert exchanges.found == ["sequence-encoded-again"]


def test_malformed_records_are_compared_by_checksum() -> None:
    exchanges = begun()
    for first_byte in (0xFF, 0xFE):
        request = produce(0)
        data = bytearray(request.topic_data[0].partition_data[0].records or b"")
        data[HEADER_SIZE] = first_byte
        data[CRC_AT : CRC_AT + 4] = crc32c(data[ATTRIBUTES_AT:]).to_bytes(4, "big")
        request.topic_data[0].partition_data[0].records = bytes(data)
        exchanges.sends(request, 7)
    assert exchanges.found == ["sequence-resent"]


def test_other_number_of_records_with_the_same_sequence_is_found() -> None:
    exchanges = begun()
    exchanges.sends(produce(0), 7)
    exchanges.sends(produce(0, 3), 7)
    assert exchanges.found == ["sequence-resent"]


def test_sequences_of_a_refused_batch_may_be_used_again() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer(Code.MESSAGE_TOO_LARGE))
    exchanges.ask(produce(0, 1), 7, answer())
    exchanges.ask(produce(1, 1), 7, answer())
    assert exchanges.found == []


def test_sequences_of_a_batch_that_is_retried_may_not_be_used_again() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer(Code.NOT_LEADER_OR_FOLLOWER))
    exchanges.ask(produce(0, 1), 7, answer())
    assert exchanges.found == ["sequence-resent"]


def test_new_epoch_begins_with_0() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer())
    exchanges.ask(produce(0, epoch=1), 7, answer())
    assert exchanges.found == []


def test_new_epoch_that_continues_the_sequence_is_found() -> None:
    exchanges = begun()
    exchanges.ask(produce(0), 7, answer())
    exchanges.ask(produce(2, epoch=1), 7, answer())
    assert exchanges.found == ["sequence-first"]


def test_producer_id_that_was_not_given_is_found_once() -> None:
    exchanges = begun()
    exchanges.sends(produce(0, producer_id=77), 7)
    exchanges.sends(produce(2, producer_id=77), 7)
    assert exchanges.found == ["producer-id"]


def test_five_batches_in_flight_are_correct() -> None:
    exchanges = Exchanges(InFlight())
    for number in range(5):
        exchanges.sends(produce(2 * number), 7)
    exchanges.sends(produce(10), 7, connection=2)
    assert exchanges.found == []


def test_sixth_batch_in_flight_is_found() -> None:
    exchanges = Exchanges(InFlight())
    for number in range(6):
        exchanges.sends(produce(2 * number), 7)
    assert exchanges.found == ["in-flight"]


def test_completed_batches_do_not_count() -> None:
    exchanges = Exchanges(InFlight())
    for number in range(8):
        exchanges.ask(produce(2 * number), 7, answer())
    assert exchanges.found == []
