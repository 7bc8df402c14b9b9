"""Whether the transaction coordinator knows of a transaction that reaches this log (KIP-890, since 3.6).

Before the first batch of a transaction is appended, the partition asks the coordinator. A `Verification` stands for
that question from the moment it is asked until the batch is in the log, or a marker is; its `guard` is proof that the
answer was for this question and not for one before a marker that came in between. What is never appended expires with
the producers.

The lowest sequence that was seen is kept, too: a later batch must not overtake an earlier one whose verification
failed and will be tried again.
"""


class Guard:
    """Says by its identity which verification it belongs to."""

    __slots__ = ()


class Verification:
    """The question about one producer's transaction (Kafka's VerificationStateEntry)."""

    __slots__ = ("epoch", "guard", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, started_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.started_ms = started_ms
        self.guard = Guard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump
        """The producer knows transaction version 2, so each of its transactions begins at sequence 0."""

    def see(self, sequence: int, epoch: int) -> None:
        """Another batch asks: an epoch above begins anew, a smaller sequence of this one is the lowest now."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """The open questions of one log, by producer."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, Verification] = {}

    def start(
        self, producer_id: int, sequence: int, epoch: int, now_ms: int, *, supports_epoch_bump: bool = False
    ) -> Guard:
        """The guard of the open question about this producer, which is asked now if there was none."""
        verification = self._by_producer.get(producer_id)
        if verification is None:
            verification = self._by_producer[producer_id] = Verification(now_ms, sequence, epoch, supports_epoch_bump)
        verification.see(sequence, epoch)
        return verification.guard

    def get(self, producer_id: int) -> Verification | None:
        return self._by_producer.get(producer_id)

    def is_proven(self, producer_id: int, guard: Guard | None) -> bool:
        """Whether `guard` answers the question that is open now."""
        verification = self._by_producer.get(producer_id)
        return verification is not None and verification.guard is guard

    def end(self, producer_id: int) -> None:
        """There is something in the log now."""
        self._by_producer.pop(producer_id, None)

    def expire(self, started_by_ms: int) -> None:
        """Forget the questions asked at this time or before."""
        for producer_id, verification in list(self._by_producer.items()):
            if verification.started_ms <= started_by_ms:
                del self._by_producer[producer_id]
