"""What a partition asks the transaction coordinator: does this transaction reach here (KIP-890 part 1)?

Records of a transaction are refused unless the producer has put the partition into its transaction before, so that a
late batch cannot begin a transaction that nobody will end. The partition asks once for each transaction: what is open
in its log needs no other word. This broker runs no coordinator, so no transactional id is known.

Source: kafka.server.AddPartitionsToTxnManager, TransactionCoordinator.handleVerifyPartitionsInTransaction.
"""

from kafkalet.protocol.errors import Code, KafkaError


class Transactions:
    """The transactions of a cluster without a coordinator: there are none."""

    def verify(self, transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partition: int) -> None:
        """Raises KafkaError with what the producer is told, unless the partition is in the producer's transaction."""
        raise KafkaError(
            Code.INVALID_TXN_STATE, f"Producer {producer_id} has not added {topic}-{partition} to a transaction"
        )
