"""The transactions in a log that the cleaner reads from the beginning (Kafka's CleanedTransactionMetadata).

Records of aborted transactions are removed. The marker of a transaction is removed when all its records are gone.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.storage.values import AbortedTransaction


class CleanedTransactions:
    """The transactions that are open at the last batch that was read."""

    __slots__ = ("_aborted", "_coming", "_committed", "_count", "_with_records", "keep")

    def __init__(self, keep: Callable[[AbortedTransaction], None] = lambda aborted: None) -> None:
        self.keep = keep
        """Called with each aborted transaction whose marker stays, for the new transaction index."""
        self._coming: list[tuple[int, int, AbortedTransaction]] = []
        """Aborted transactions that have not begun yet, as a heap ordered by first offset."""
        self._count = 0
        self._aborted: dict[int, AbortedTransaction] = {}
        """Open transactions that will be aborted, keyed by producer id."""
        self._with_records: set[int] = set()
        """The producer ids of those aborted transactions that have records left."""
        self._committed: set[int] = set()
        """The producer ids of open transactions that will be committed and have records left."""

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Add aborted transactions from the transaction index. One may be added several times."""
        for each in aborted:
            self._count += 1
            heappush(self._coming, (each.first_offset, self._count, each))

    def read_batch(self, batch: Batch) -> bool:
        """Process a batch with data. Return whether it belongs to an aborted transaction."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._with_records.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def read_control_batch(self, batch: Batch) -> bool:
        """Process a control batch. Return whether it may be removed because nothing is left of its transaction."""
        self._begin_up_to(batch.last_offset)
        record = next(batch.iterate(), None)
        if record is None:
            return True
        kind, producer_id = control_type(record), batch.producer_id
        if kind is ControlType.ABORT:
            aborted = self._aborted.pop(producer_id, None)
            if aborted is None or producer_id not in self._with_records:
                return True
            self._with_records.discard(producer_id)
            self.keep(aborted)
            return False
        if kind is ControlType.COMMIT:
            if producer_id not in self._committed:
                return True
            self._committed.discard(producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            aborted = heappop(self._coming)[2]
            self._aborted.setdefault(aborted.producer_id, aborted)
