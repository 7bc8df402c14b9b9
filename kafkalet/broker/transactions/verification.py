"""What a partition asks the transaction coordinator: does this transaction reach here (KIP-890 part 1)?

Records of a transaction are refused unless the producer has put the partition into its transaction before, so that a
late batch cannot begin a transaction that nobody will end. The partition asks once for each transaction: what is open
in its log needs no other word. This broker runs no coordinator, so no transactional id is known.

Source: kafka.server.AddPartitionsToTxnManager, TransactionCoordinator.handleVerifyPartitionsInTransaction.
"""

from kafkalet.protocol.errors import Code, KafkaError

KNOWS_ABORTABLE = 11
"""From this version on, Produce answers TRANSACTION_ABORTABLE where the way out is to abort (KIP-1050)."""


class TransactionalProducer:
    """A transactional id as the coordinator knows it."""

    __slots__ = ("partitions", "producer_epoch", "producer_id")

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = 0
        self.partitions: set[tuple[str, int]] = set()
        """What belongs to the transaction that is open."""


class Transactions:
    """The transactions of a cluster without a coordinator: there are none."""

    def find(self, transactional_id: str) -> TransactionalProducer | None:
        """What is known of a transactional id."""
        return None

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic: str,
        partition: int,
        produce_version: int,
    ) -> None:
        """Raises KafkaError with what the producer is told, unless the partition is in the producer's transaction."""
        if not transactional_id:
            raise KafkaError(Code.INVALID_REQUEST)
        producer = self.find(transactional_id)
        if producer is None or producer.producer_id != producer_id:
            raise KafkaError(Code.INVALID_PRODUCER_ID_MAPPING)
        if producer.producer_epoch != producer_epoch:
            raise KafkaError(Code.INVALID_PRODUCER_EPOCH)
        if (topic, partition) not in producer.partitions:
            if produce_version >= KNOWS_ABORTABLE:
                raise KafkaError(Code.TRANSACTION_ABORTABLE)
            raise KafkaError(Code.INVALID_TXN_STATE, f"{topic}-{partition} was not added to the transaction")
