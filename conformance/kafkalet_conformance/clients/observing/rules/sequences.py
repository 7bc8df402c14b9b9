"""Sequence numbers of idempotent producers (KIP-98, KIP-360).

    producer id, epoch, partition ──> batches with consecutive sequence numbers, from 0; after 2^31-1 follows 0

A batch may be sent again with the same records. Brokers compare only the epoch and the sequence numbers
(ProducerStateEntry.findDuplicateBatch), so that a client may encode the records again, for example with new timestamps;
the observer only notes this. After an error that says that a batch is not in the log and never will be, a producer may
use its sequence numbers for other records. From then on, this epoch of the partition is not judged.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.end_txn import EndTxnResponse
from kafkalet.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalet.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.units import counted
from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent

from .rule import Remark, Rule

_SOURCE = "KIP-98, TransactionManager, ProducerStateManager"
_RESENT = Claim(
    "sequence-resent", "A batch that is sent again has the same keys, values and headers.", f"{_SOURCE}, ProducerBatch"
)
_ENCODED_AGAIN = Claim(
    "sequence-encoded-again",
    "A batch that is sent again has the same bytes, and so the same timestamps.",
    "ProducerBatch, ProducerStateEntry.findDuplicateBatch",
    Severity.NOTE,
)
_FIRST = Claim(
    "sequence-first",
    "In a new producer epoch, the sequence numbers of a partition begin with 0.",
    "KIP-360, TransactionManager.bumpIdempotentProducerEpoch",
)
_TOLD = Claim("producer-id", "A producer uses an id that InitProducerId gave, and no older epoch.", _SOURCE)
_RETRIED = {
    Code.NONE,
    Code.DUPLICATE_SEQUENCE_NUMBER,
    Code.CORRUPT_MESSAGE,
    Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.UNKNOWN_TOPIC_ID,
    Code.LEADER_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.REQUEST_TIMED_OUT,
    Code.NETWORK_EXCEPTION,
    Code.NOT_ENOUGH_REPLICAS,
    Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Code.KAFKA_STORAGE_ERROR,
    Code.CONCURRENT_TRANSACTIONS,
}
"""The results after which a batch keeps its sequence numbers."""
_MODULUS = 1 << 31
_KEPT_BATCHES = 1000


class _Key(NamedTuple):
    """The key of a series of sequence numbers."""

    producer_id: int
    epoch: int
    topic: str | bytes
    partition: int


class _Content(NamedTuple):
    """What a batch contains."""

    record_count: int
    crc: int
    records: int
    """A hash of the keys, values and headers."""


class _Sequence:
    """The sequence numbers seen in a partition."""

    def __init__(self, next_sequence: int) -> None:
        self.next_sequence = next_sequence
        self.batches: OrderedDict[int, _Content] = OrderedDict()
        """The latest batches, keyed by base sequence."""
        self.has_failed = False
        """Whether the sequence numbers of a batch may have been reused."""


class SequenceNumbers(Rule):
    """Follows the sequence numbers of each producer id, epoch and partition."""

    CLAIM = Claim(
        "sequence-consecutive",
        "The sequence numbers of a producer in a partition are consecutive.",
        _SOURCE,
    )

    def __init__(self) -> None:
        self._sequences: dict[_Key, _Sequence] = {}
        self._told: dict[int, int] = {}
        """The lowest epochs, keyed by producer id. An idempotent producer may raise the epoch itself (KIP-360)."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        if sent.place.position == 1 and sent.api is not Api.API_VERSIONS:
            self.sees_everything = False
        for key, batch in _batches(sent):
            yield from self._batch(key, batch)

    def _batch(self, key: _Key, batch: Batch) -> Iterator[str | Remark]:
        told = self._told.get(key.producer_id)
        if (told is None or key.epoch < told) and self.sees_everything:
            given = "not given" if told is None else f"given with epoch {told}"
            yield Remark(_TOLD, f"producer id {key.producer_id} is sent with epoch {key.epoch}, but was {given}")
            self._told[key.producer_id] = key.epoch  # one finding is enough
        first, count, content = batch.base_sequence, batch.count, _content(batch)
        where = f"partition {key.partition} of producer {key.producer_id}, epoch {key.epoch}"
        sequence = self._sequences.get(key)
        if sequence is None:
            sequence = self._sequences[key] = _Sequence(first)
            if first != 0 and told is not None and key.epoch >= told:
                yield Remark(_FIRST, f"{where}: the first base sequence is {first}")
        elif first != sequence.next_sequence:
            earlier = sequence.batches.get(first)
            if earlier is not None and (earlier.record_count == count or sequence.has_failed):
                is_same = earlier.record_count == count and earlier.records == content.records
                if not sequence.has_failed:
                    yield from _resent(f"{where}: sequence {first} is sent again", earlier, content)
                if is_same or not sequence.has_failed:
                    return
            elif sequence.has_failed:
                pass
            elif earlier is not None:
                yield Remark(
                    _RESENT,
                    f"{where}: sequence {first} sent again with {counted(count, 'record')}, not {earlier.record_count}",
                )
            else:
                yield f"{where}: base sequence {first} is sent; {sequence.next_sequence} comes next"
        sequence.next_sequence = (first + count) % _MODULUS
        sequence.batches[first] = content
        sequence.batches.move_to_end(first)
        if len(sequence.batches) > _KEPT_BATCHES:
            sequence.batches.popitem(last=False)

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        response = sent.response
        if isinstance(response, InitProducerIdResponse | EndTxnResponse):
            if response.error_code == Code.NONE and response.producer_id >= 0:
                lowest = self._told.get(response.producer_id, response.producer_epoch)
                self._told[response.producer_id] = min(lowest, response.producer_epoch)
                given = (response.producer_id, response.producer_epoch)
                for key in [key for key in self._sequences if key[:2] == given]:
                    del self._sequences[key]  # the cluster was reset, and gives the same ids again
        elif isinstance(response, ProduceResponse):
            failed = {
                (topic.name or topic.topic_id, partition.index)
                for topic in response.responses
                for partition in topic.partition_responses
                if partition.error_code not in _RETRIED
            }
            if failed:
                self._fail(sent, failed)
        elif sent.api is Api.PRODUCE and sent.fate is Fate.REFUSED:
            self._fail(sent, None)
        yield from ()

    def _fail(self, sent: Sent, partitions: set[tuple[str | bytes, int]] | None) -> None:
        for key, _ in _batches(sent):
            if partitions is None or (key.topic, key.partition) in partitions:
                sequence = self._sequences.get(key)
                if sequence is not None:
                    sequence.has_failed = True


def _content(batch: Batch) -> _Content:
    try:
        records = hash(tuple((record.key, record.value, record.headers) for record in batch.iterate()))
    except KafkaError:  # strict decoding complains
        records = batch.crc
    return _Content(batch.count, batch.crc, records)


def _resent(what: str, earlier: _Content, content: _Content) -> Iterator[Remark]:
    """Compare a batch with the earlier one that had the same sequence numbers."""
    if content.records != earlier.records:
        yield Remark(_RESENT, f"{what} with other keys, values or headers")
    elif content.crc != earlier.crc:
        yield Remark(
            _ENCODED_AGAIN, f"{what} with checksum {content.crc:#x}, not {earlier.crc:#x}, and the same values"
        )


class InFlight(Rule):
    """Counts how many Produce requests of an idempotent producer are in flight for the same partition."""

    CLAIM = Claim(
        "in-flight",
        "An idempotent producer has at most 5 batches of a partition in flight.",
        "KIP-98, ProducerStateEntry.NUM_BATCHES_TO_RETAIN, ProducerConfig",
    )
    MOST = 5

    def __init__(self) -> None:
        self._sent: dict[tuple[int, _Key], deque[Sent]] = {}
        """The latest requests, keyed by connection, producer and partition."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        for key, _ in _batches(sent):
            latest = self._sent.setdefault((sent.connection, key), deque(maxlen=2 * self.MOST))
            waiting = 1 + sum(each.ended_s is None or each.ended_s >= sent.at_s for each in latest)
            if waiting > self.MOST:
                yield f"partition {key.partition} of producer {key.producer_id} has {waiting} batches in flight"
            latest.append(sent)

    def closed(self, closed: Closed) -> None:
        for key in [key for key in self._sent if key[0] == closed.connection]:
            del self._sent[key]


def _batches(sent: Sent) -> Iterator[tuple[_Key, Batch]]:
    """Yield a request's batches that have sequence numbers."""
    request = sent.request
    if not isinstance(request, ProduceRequest) or sent.version < 3:
        return
    for topic in request.topic_data:
        for partition in topic.partition_data:
            try:
                for batch in batches(partition.records or b""):
                    if batch.magic == 2 and batch.producer_id >= 0 and batch.count > 0:
                        name = topic.name or topic.topic_id
                        yield _Key(batch.producer_id, batch.producer_epoch, name, partition.index), batch
            except KafkaError:  # strict decoding complains
                continue
