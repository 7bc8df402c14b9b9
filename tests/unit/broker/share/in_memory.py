"""A share partition with a short way to write down what is in flight."""

from collections.abc import Iterable, Sequence

from kafkalet.broker.share.acquisition import BY_BATCHES, LogBatch, Wanted, acquire
from kafkalet.broker.share.share_partition import Acknowledgement, Limits, SharePartition, Update
from kafkalet.broker.share.state import RecordState, StateBatch


class Held:
    """A share partition in which time stands still until `now_ms` is set."""

    def __init__(self, start_offset: int = 0, batches: Iterable[StateBatch] = (), **limits: int | bool) -> None:
        self.limits = Limits(**limits)  # type: ignore[arg-type]
        self.partition = SharePartition(lambda: self.limits, start_offset, batches)
        self.now_ms = 0

    def acquire(
        self,
        member: str = "alice",
        log: Sequence[tuple[int, int]] = ((0, 9),),
        *,
        max_records: int = 500,
        batch_size: int = 500,
        mode: int = BY_BATCHES,
        at: int | None = None,
    ) -> list[tuple[int, int, int]]:
        """Acquire records of a log with these batches, read from where the share partition would read."""
        offset = self.partition.next_fetch_offset() if at is None else at
        read = [LogBatch(*batch) for batch in log if batch[1] >= offset]
        wanted = Wanted(member, mode, max_records, batch_size)
        return [tuple(one) for one in acquire(self.partition, wanted, offset, read, self.now_ms)]  # type: ignore[misc]

    def begin(self, member: str, *ranges: tuple[int, int, int | Sequence[int]]) -> Update:
        """Begin to acknowledge ranges (first, last, type or types)."""
        acknowledgements = [
            Acknowledgement(first, last, [types] if isinstance(types, int) else types) for first, last, types in ranges
        ]
        return self.partition.acknowledge(member, acknowledgements, self.now_ms)

    def acknowledge(self, member: str, *ranges: tuple[int, int, int | Sequence[int]]) -> list[tuple[int, ...]]:
        """Acknowledge ranges, and return the persisted batches."""
        update = self.begin(member, *ranges)
        self.partition.commit(update, self.now_ms)
        return [tuple(batch) for batch in update.batches]

    def release(self, member: str) -> list[tuple[int, ...]]:
        update = self.partition.release(member, self.now_ms)
        self.partition.commit(update, self.now_ms)
        return [tuple(batch) for batch in update.batches]

    def expire(self, after_ms: int) -> list[tuple[int, ...]]:
        self.now_ms += after_ms
        batches = self.partition.expire(self.now_ms)
        self.partition.advance()
        return [tuple(batch) for batch in batches]

    def archive(self, first: int, last: int) -> None:
        self.partition.archive(first, last, RecordState.ACQUIRED)

    @property
    def states(self) -> list[tuple[int, int, str, int]]:
        """The runs in flight: first and last offset, state, and number of deliveries."""
        return [
            (run.first, run.last, run.state.name.lower(), run.deliveries)
            for batch in self.partition.in_flight
            for run in batch.runs
        ]

    @property
    def offsets(self) -> tuple[int, int]:
        return self.partition.start_offset, self.partition.end_offset
