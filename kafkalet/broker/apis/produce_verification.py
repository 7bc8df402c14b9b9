"""Verification of all transactional records in a Produce request before they are appended.

If the producer's transaction is not yet open in the logs of some partitions, one request to the coordinator verifies it
for all of these partitions (verification.py). The coordinator's error codes are converted to codes that producers
handle well. Temporary errors become NOT_ENOUGH_REPLICAS, because every client then retries without looking for another
leader.

Source: kafka.server.ReplicaManager.handleProduceAppend.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafkalet.broker.broker import Broker
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.broker.transactions.metadata import TopicPartition
from kafkalet.broker.transactions.verification import Operation, Refusals
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.wire import Buffer
from kafkalet.storage.verification import Guard
from kafkalet.tasks.task import detached, until

PASSES = frozenset(
    {
        Code.NETWORK_EXCEPTION,
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
    }
)


class Verified(NamedTuple):
    """The result of the verification, keyed by partition: errors of refused partitions, and guards of the others."""

    refusals: Refusals
    guards: dict[TopicPartition, Guard]
    """A guard proves to a log that the transaction about to start there has been verified."""


NOTHING_TO_VERIFY = Verified({}, {})


@detached
async def verify_produce(
    given: Mapping[TopicPartition, Buffer], transactional_id: str, operation: Operation, broker: Broker
) -> Verified:
    """Verify the transactional records that a producer sends to these partitions.

    Raises KafkaError if the request contains records of more than one producer.
    """
    node = broker.node
    first_sequences: dict[TopicPartition, int] = {}
    producers: set[Producer] = set()
    for partition, records in given.items():
        for batch in batches(records):
            if batch.is_transactional and batch.has_producer_id:
                producers.add(Producer(batch.producer_id, batch.producer_epoch))
                first_sequences.setdefault(partition, batch.base_sequence)
    if len(producers) > 1:
        raise KafkaError(Code.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID")
    is_asked = operation is Operation.ADD or node.config.transaction_partition_verification_enable
    if not producers or not is_asked:
        return NOTHING_TO_VERIFY
    (producer,) = producers
    refusals: Refusals = {}
    guards: dict[TopicPartition, Guard] = {}
    for partition, sequence in first_sequences.items():
        try:
            guard = node.partition(*partition).start_verification(
                producer.producer_id, producer.producer_epoch, sequence, raises_epoch=operation is Operation.ADD
            )
        except KafkaError as error:
            refusals[partition] = error
        else:
            if guard is not None:
                guards[partition] = guard
    if not guards:
        return Verified(refusals, guards)
    refused = await until(broker.transactions.verify(transactional_id, producer, guards, operation))
    converted = {each: _for_producers(error.code, operation) for each, error in refused.items()}
    return Verified(refusals | converted, guards)


def _for_producers(code: Code, operation: Operation) -> KafkaError:
    if code is Code.INVALID_TXN_STATE:
        return KafkaError(code, "Partition was not added to the transaction")
    if code in PASSES or (code is Code.CONCURRENT_TRANSACTIONS and operation is not Operation.ADD):
        return KafkaError(
            Code.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {code.name}",
        )
    return KafkaError(code)
