"""What is added to a transaction before it is used."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkalet.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    PartitionResult,
    Topic,
    TopicResult,
)
from kafkalet.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_conformance.clients.observing.rules.transactions import Transactions

from .synthetic import Exchanges

END = EndTxnRequest(transactional_id="x", producer_id=9, producer_epoch=0, committed=True)
OFFSETS = TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=9, producer_epoch=0, topics=[])
ADD_OFFSETS = AddOffsetsToTxnRequest(transactional_id="x", producer_id=9, producer_epoch=0, group_id="g")
ADD = AddPartitionsToTxnRequest(
    v3_and_below_transactional_id="x",
    v3_and_below_producer_id=9,
    v3_and_below_producer_epoch=0,
    v3_and_below_topics=[Topic(name="t", partitions=[0])],
)


def produce() -> ProduceRequest:
    batch = build_batch(
        numbered([(1000, None, b"v", ())]), producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    topic = ProduceRequest.Topic(name="t", partition_data=[partition])
    return ProduceRequest(transactional_id="x", acks=-1, timeout_ms=1, topic_data=[topic])


def added(error: Code = Code.NONE) -> AddPartitionsToTxnResponse:
    result = TopicResult(
        name="t", results_by_partition=[PartitionResult(partition_index=0, partition_error_code=error)]
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[result])


def begun() -> Exchanges:
    exchanges = Exchanges(Transactions())
    given = InitProducerIdResponse(producer_id=9, producer_epoch=0)
    exchanges.ask(InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1), 1, given)
    return exchanges


def test_transaction_with_partition_and_offsets_is_correct() -> None:
    exchanges = begun()
    for _ in range(2):
        exchanges.ask(ADD, 3, added())
        exchanges.sends(produce(), 9)
        exchanges.ask(ADD_OFFSETS, 3, AddOffsetsToTxnResponse())
        exchanges.sends(OFFSETS, 3)
        exchanges.ask(END, 3, EndTxnResponse())
    assert exchanges.found == []


def test_partition_that_was_not_added_is_found() -> None:
    exchanges = begun()
    exchanges.sends(produce(), 9)
    assert exchanges.found == ["transaction-partition"]


def test_partition_that_was_refused_is_found() -> None:
    exchanges = begun()
    exchanges.ask(ADD, 3, added(Code.TOPIC_AUTHORIZATION_FAILED))
    exchanges.sends(produce(), 9)
    assert exchanges.found == ["transaction-partition"]


def test_partition_of_the_previous_transaction_is_found() -> None:
    exchanges = begun()
    exchanges.ask(ADD, 3, added())
    exchanges.ask(END, 3, EndTxnResponse())
    exchanges.sends(produce(), 9)
    assert exchanges.found == ["transaction-partition"]


def test_partitions_are_added_implicitly_since_version_12() -> None:
    exchanges = begun()
    exchanges.sends(produce(), 12)
    exchanges.sends(END, 5)
    assert exchanges.found == []


def test_offsets_of_a_group_that_was_not_added_are_found() -> None:
    exchanges = begun()
    exchanges.sends(OFFSETS, 3)
    assert exchanges.found == ["transaction-offsets"]


def test_end_of_an_empty_transaction_is_found() -> None:
    exchanges = begun()
    exchanges.ask(END, 3, EndTxnResponse())
    assert exchanges.found == ["transaction-empty"]


def test_end_that_failed_may_be_repeated() -> None:
    exchanges = begun()
    exchanges.ask(ADD, 3, added())
    exchanges.ask(END, 3, EndTxnResponse(error_code=Code.CONCURRENT_TRANSACTIONS))
    exchanges.ask(END, 3, EndTxnResponse())
    assert exchanges.found == []


def test_second_end_of_a_transaction_is_found() -> None:
    exchanges = begun()
    exchanges.ask(ADD, 3, added())
    exchanges.ask(END, 3, EndTxnResponse())
    exchanges.ask(END, 3, EndTxnResponse())
    assert exchanges.found == ["transaction-empty"]
