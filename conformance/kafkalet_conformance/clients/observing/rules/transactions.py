"""Transactions: partitions and groups are added to a transaction before they are used (KIP-98).

With transactions v2 (KIP-890: Produce v12, TxnOffsetCommit v5), the broker adds partitions and groups itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkalet.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkalet.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalet.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalet.protocol.records.batch import TRANSACTIONAL, batches
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Fate, Sent

from .rule import Remark, Rule

_SOURCE = "KIP-98, TransactionManager"
_OFFSETS = Claim(
    "transaction-offsets",
    "Before TxnOffsetCommit v4 and older, AddOffsetsToTxn has added the group to the transaction.",
    _SOURCE,
)
_EMPTY = Claim("transaction-empty", "EndTxn ends a transaction that has begun.", _SOURCE)


class _Producer(NamedTuple):
    """A producer id with its epoch."""

    producer_id: int
    epoch: int


class _Transaction:
    """The current transaction of a producer."""

    def __init__(self) -> None:
        self.partitions: set[tuple[str, int]] = set()
        self.groups: set[str] = set()
        self.has_begun = False
        self.ended: Sent | None = None
        """The request that ended the previous transaction."""
        self.is_ended = False
        """Whether that request was answered without an error, and nothing was added since."""


class Transactions(Rule):
    """Follows the transaction of each producer id and epoch, from InitProducerId on."""

    CLAIM = Claim(
        "transaction-partition",
        "Before Produce v11 and older, AddPartitionsToTxn has added the partition to the transaction.",
        _SOURCE,
    )

    def __init__(self) -> None:
        self._transactions: dict[_Producer, _Transaction] = {}

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        request = sent.request
        if isinstance(request, ProduceRequest):
            yield from self._produce(sent, request)
        elif isinstance(request, TxnOffsetCommitRequest):
            transaction = self._transactions.get(_Producer(request.producer_id, request.producer_epoch))
            if transaction is not None:
                if sent.version < 5 and request.group_id not in transaction.groups:
                    text = f"the group {request.group_id!r} is not in the transaction of {request.transactional_id!r}"
                    yield Remark(_OFFSETS, text)
                _begin(transaction)
        elif isinstance(request, EndTxnRequest):
            transaction = self._transactions.get(_Producer(request.producer_id, request.producer_epoch))
            if transaction is not None:
                if (
                    sent.version < 5
                    and not transaction.has_begun
                    and (transaction.ended is None or transaction.is_ended)
                ):
                    yield Remark(_EMPTY, f"the transaction of {request.transactional_id!r} contains nothing")
                transaction.partitions.clear()
                transaction.groups.clear()
                transaction.has_begun = transaction.is_ended = False
                transaction.ended = sent
        elif isinstance(request, AddPartitionsToTxnRequest | AddOffsetsToTxnRequest):
            for producer in _adding(request):
                if producer in self._transactions:
                    _begin(self._transactions[producer])

    def _produce(self, sent: Sent, request: ProduceRequest) -> Iterator[str]:
        for topic in request.topic_data:
            for partition in topic.partition_data:
                producers: set[_Producer] = set()
                try:
                    for batch in batches(partition.records or b""):
                        if batch.magic == 2 and batch.attributes & TRANSACTIONAL:
                            producers.add(_Producer(batch.producer_id, batch.producer_epoch))
                except KafkaError:  # strict decoding complains
                    continue
                for producer in producers:
                    transaction = self._transactions.get(producer)
                    if transaction is None:
                        continue
                    if sent.version < 12 and (topic.name, partition.index) not in transaction.partitions:
                        text = f"partition {partition.index} of {topic.name!r} is not in the transaction of"
                        yield f"{text} {request.transactional_id!r}"
                    _begin(transaction)

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        request, response = sent.request, sent.response
        if isinstance(response, InitProducerIdResponse):
            if response.error_code == Code.NONE:
                self._transactions[_Producer(response.producer_id, response.producer_epoch)] = _Transaction()
        elif isinstance(response, EndTxnResponse) and isinstance(request, EndTxnRequest):
            transaction = self._transactions.get(_Producer(request.producer_id, request.producer_epoch))
            if response.error_code == Code.NONE:
                if response.producer_id >= 0:
                    self._transactions[_Producer(response.producer_id, response.producer_epoch)] = _Transaction()
                if transaction is not None and transaction.ended is sent and not sent.is_altered:
                    transaction.is_ended = True
        elif isinstance(request, AddPartitionsToTxnRequest):
            self._added_partitions(sent, request)
        elif isinstance(request, AddOffsetsToTxnRequest):
            transaction = self._transactions.get(_Producer(request.producer_id, request.producer_epoch))
            is_known = isinstance(response, AddOffsetsToTxnResponse)
            if transaction is not None and (not is_known or response.error_code == Code.NONE):  # type: ignore[union-attr]
                transaction.groups.add(request.group_id)
        yield from ()

    def _added_partitions(self, sent: Sent, request: AddPartitionsToTxnRequest) -> None:
        producer = _Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        transaction = self._transactions.get(producer)
        if transaction is None or sent.version > 3 or sent.fate is Fate.WAITING:
            return
        failed: set[tuple[str, int]] = set()
        if isinstance(sent.response, AddPartitionsToTxnResponse):
            failed = {
                (topic.name, each.partition_index)
                for topic in sent.response.results_by_topic_v3_and_below
                for each in topic.results_by_partition
                if each.partition_error_code != Code.NONE
            }
        for topic in request.v3_and_below_topics:
            transaction.partitions |= {(topic.name, partition) for partition in topic.partitions} - failed


def _begin(transaction: _Transaction) -> None:
    transaction.has_begun = True
    transaction.is_ended = False


def _adding(request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest) -> Iterator[_Producer]:
    if isinstance(request, AddOffsetsToTxnRequest):
        yield _Producer(request.producer_id, request.producer_epoch)
    else:
        yield _Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        for each in request.transactions:
            yield _Producer(each.producer_id, each.producer_epoch)
