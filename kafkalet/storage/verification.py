"""Verification of transactions with the transaction coordinator (KIP-890, since 3.6).

Before the first batch of a transaction is appended, the partition requests confirmation from the coordinator that the
transaction includes the partition. A `Verification` exists from that request until the batch or a marker is in the log.
Its `guard` ties the coordinator's response to this request, so a response from before a later marker is not accepted.
Verifications that are never used expire with the producers.

The lowest sequence seen is kept, too: a later batch must not overtake an earlier one whose verification failed and
will be retried.
"""


class Guard:
    """A token that identifies one verification by object identity."""

    __slots__ = ()


class Verification:
    """A pending verification of one producer's transaction (Kafka's VerificationStateEntry)."""

    __slots__ = ("epoch", "guard", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, started_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.started_ms = started_ms
        self.guard = Guard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump
        """Whether the producer uses transaction version 2, in which every transaction begins at sequence 0."""

    def see(self, sequence: int, epoch: int) -> None:
        """Record another batch to verify. A higher epoch resets the lowest sequence; otherwise it can only fall."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """The pending verifications of one log, keyed by producer id."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, Verification] = {}

    def start(
        self, producer_id: int, sequence: int, epoch: int, now_ms: int, *, supports_epoch_bump: bool = False
    ) -> Guard:
        """Return the guard of the producer's pending verification; start a verification if none is pending."""
        verification = self._by_producer.get(producer_id)
        if verification is None:
            verification = self._by_producer[producer_id] = Verification(now_ms, sequence, epoch, supports_epoch_bump)
        verification.see(sequence, epoch)
        return verification.guard

    def get(self, producer_id: int) -> Verification | None:
        return self._by_producer.get(producer_id)

    def is_proven(self, producer_id: int, guard: Guard | None) -> bool:
        """Return whether `guard` belongs to the pending verification."""
        verification = self._by_producer.get(producer_id)
        return verification is not None and verification.guard is guard

    def end(self, producer_id: int) -> None:
        """End the verification, because a batch or a marker of the producer is in the log."""
        self._by_producer.pop(producer_id, None)

    def started_ms(self) -> list[int]:
        """Return when each verification was started."""
        return [verification.started_ms for verification in self._by_producer.values()]

    def expire(self, started_by_ms: int) -> None:
        """Remove the verifications started at or before `started_by_ms`."""
        for producer_id, verification in list(self._by_producer.items()):
            if verification.started_ms <= started_by_ms:
                del self._by_producer[producer_id]
