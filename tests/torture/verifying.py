"""Compare a log that was opened after a crash with the promises before it."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.log import Log
from kafkalet.storage.values import Isolation, ReadResult

from .model import (
    Entry,
    State,
    aborted_in,
    entries_in,
    offset_index_faults,
    time_index_faults,
)
from .workload import Promise

LEFT_OVER = (".tmp", ".cleaned", ".swap", ".deleted")


class GuaranteeViolated(AssertionError):
    """A recovered log violates a guarantee."""


def check(log: Log, before: Promise | None, after: Promise | None, *, power: bool) -> Promise:
    """Check a log after a crash, and return the promise that follows from it.

    `before` and `after` are the promises before and after the operation in which the crash happened.
    """
    problems = Problems(log)
    entries = problems.entries()
    history = problems.history(entries, [each for each in (before, after) if each is not None], power)
    problems.files()
    problems.reading(entries)
    problems.indexes()
    problems.epochs(entries)
    log.maybe_increment_high_watermark(log.log_end_offset)
    if not problems.has_gaps:
        problems.producers(history, entries)
    problems.raise_found()
    [topic_id] = {each.topic_id for each in (before, after) if each is not None}
    return Promise(
        topic_id,
        history,
        log.log_start_offset,
        checkpointed_start=0,
        flushed=history[-1].last + 1 if history else 0,
        high_watermark=0,
        has_gaps=problems.has_gaps,
        opened_at=log.log_end_offset,
    )


class Problems:
    """What is wrong with a log."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.found: list[str] = []
        self.flushed = 0
        self.has_gaps = False
        segments = list(log.segments)
        ends = [segment.base_offset for segment in segments[1:]]
        while ends and ends[0] <= log.log_start_offset:  # deleted records are never read
            del segments[0], ends[0]
        self._segments = [(segment, Path(segment.path).read_bytes()) for segment in segments]

    def raise_found(self) -> None:
        """Raise GuaranteeViolated if there are problems."""
        if self.found:
            raise GuaranteeViolated(f"{self.log!r}: " + "; ".join(self.found))

    def _expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.found.append(problem)

    def entries(self) -> tuple[Entry, ...]:
        """Return the batches in all segments."""
        found: list[Entry] = []
        bases = [segment.base_offset for segment, _ in self._segments]
        for (segment, data), end in zip(self._segments, [*bases[1:], 1 << 63], strict=True):
            self._expect(len(data) == segment.size_bytes, f"{segment} has {len(data)} bytes")
            try:
                entries = entries_in(data)
            except (ValueError, KafkaError) as error:
                raise GuaranteeViolated(f"{self.log!r}: {segment.path}: {error}") from error
            for entry in entries:
                self._expect(segment.base_offset <= entry.base <= entry.last < end, f"{segment} contains {entry[:2]}")
            found += entries
        end_offset = found[-1].last + 1 if found else bases[-1]
        self._expect(self.log.log_end_offset == max(end_offset, bases[-1]), f"the last batch ends at {end_offset}")
        return tuple(found)

    def history(self, entries: Sequence[Entry], promises: Sequence[Promise], power: bool) -> tuple[Entry, ...]:
        """Check that the batches are a part of the written ones. Return the written batches, up to the end."""
        log = self.log
        if not promises:
            self._expect(not entries, f"{len(entries)} batches in a log that does not exist")
            return tuple(entries)
        restarts = any(each.restarts for each in promises)
        least = min(each.flushed if power else each.end for each in promises)
        self.flushed = least
        lost_first = bool(entries) and entries[0].base > log.log_start_offset
        lost_last = bool(entries) and entries[-1].last + 1 < log.log_end_offset
        self.has_gaps = any(each.has_gaps for each in promises) or (power and (lost_first or lost_last or not entries))
        starts = [each.checkpointed_start for each in promises] if not power else [0]
        self._expect(log.log_end_offset >= least or restarts, f"the log ends below {least}")
        self._expect(
            restarts  # a full truncation may continue above the old end
            or log.log_end_offset <= max(each.end for each in promises)
            or any(version and version[-1].last >= log.log_end_offset - 1 for p in promises for version in p.older),
            f"the log does not end at {[each.end for each in promises]}",
        )
        lowest, highest = min(starts), max(each.start for each in promises)
        self._expect(
            lowest <= log.log_start_offset <= highest or restarts, f"the log does not start at {lowest} to {highest}"
        )
        high_watermark = min(min(each.high_watermark for each in promises), log.log_end_offset)
        self._expect(log.high_watermark >= high_watermark, f"the high watermark was {high_watermark}")
        versions = [each.entries for each in promises] + [version for each in promises for version in each.older]
        for version in versions:
            if (part := _part(entries, version)) is not None:
                return part
        if power:
            for version in versions:
                if (part := self._with_gaps(entries, version)) is not None:
                    return part
        firsts = [_first_difference(entries, version) for version in versions]
        self.found.append(f"its batches are not what was written: {firsts}; it has {_text(entries)}")
        return tuple(entries)

    def _with_gaps(self, entries: Sequence[Entry], version: Sequence[Entry]) -> tuple[Entry, ...] | None:
        """Return the rest of `version` if whole ends of segments are missing that were not flushed.

        Neither Kafka nor kafkalet can tell such a gap from one that compaction has left.
        """
        left = set(entries)
        kept = tuple(entry for entry in version if entry in left)
        if kept != tuple(entries):
            return None
        bases = set(self.log.segments.base_offsets)
        for one, other in pairwise(entries):
            if other.base != one.last + 1 and (other.base not in bases or other.base <= self.flushed):
                return None
        self.has_gaps = True
        first = entries[0].base if entries else 0
        return (*[entry for entry in version if entry.last < first], *kept)

    def files(self) -> None:
        """Check that nothing is left of interrupted operations."""
        names = sorted(path.name for path in Path(self.log.directory).iterdir())
        left = [name for name in names if name.endswith(LEFT_OVER)]
        self._expect(not left, f"{left} are left")
        bases = {f"{base:020d}" for base in self.log.segments.base_offsets}
        strange = [
            name
            for name in names
            if name.endswith((".log", ".index", ".timeindex", ".txnindex")) and name.partition(".")[0] not in bases
        ]
        self._expect(not strange, f"{strange} belong to no segment")

    def reading(self, entries: Sequence[Entry]) -> None:
        """Check that a reader gets the batches from the log start on."""
        log = self.log
        wanted = [entry for entry in entries if entry.last >= log.log_start_offset]
        offset, got = log.log_start_offset, []
        while offset < log.log_end_offset:
            data = _content(log.read(offset, 1 << 20, Isolation.LOG_END, True))
            if not data:
                break
            got += entries_in(data)
            offset = got[-1].last + 1
        self._expect(got == wanted, f"a reader gets {_text(got)} instead of {_text(wanted)}")

    def indexes(self) -> None:
        for segment, data in self._segments:
            images = {name.partition(".")[2]: image for name, image in segment.images()}
            entries = entries_in(data)
            for problem in (
                *offset_index_faults(images["index"], segment.base_offset, entries),
                *time_index_faults(images["timeindex"], segment.base_offset, entries),
            ):
                self.found.append(f"{segment}: {problem}")

    def epochs(self, entries: Sequence[Entry]) -> None:
        """Check that each batch belongs to the epoch that the log would find for its offset."""
        known = self.log.epochs.entries
        self._expect(
            all(a.epoch < b.epoch and a.start_offset < b.start_offset for a, b in pairwise(known)),
            f"the leader epochs are {known}",
        )
        self._expect(not known or known[-1].start_offset <= self.log.log_end_offset, f"the leader epochs are {known}")
        for entry in entries:
            if entry.base >= self.log.log_start_offset:
                found = [each.epoch for each in known if each.start_offset <= entry.base]
                self._expect(
                    found[-1:] == [entry.batch.leader_epoch],
                    f"batch {entry[:2]} has epoch {entry.batch.leader_epoch}, the epochs are {known}",
                )

    def producers(self, history: Sequence[Entry], entries: Sequence[Entry]) -> None:
        """Check producer states, transactions and transaction indexes."""
        log = self.log
        state = State(history)
        start = log.log_start_offset
        here = {each.producer_id: each for each in log.active_producers()}
        for number, wanted in state.producers.items():
            got = here.pop(number, None)
            if wanted.touched < start and got is None:
                continue
            if got is None:
                self.found.append(f"producer {number} is unknown, but has written {wanted.touched}")
                continue
            last_offset = got.batches[-1].last_offset if got.batches else -1
            same_sequence = (got.last_sequence, last_offset) == (wanted.last_sequence, wanted.last_offset)
            forgotten = wanted.last_offset < start and not got.batches
            self._expect(
                got.producer_epoch == wanted.epoch and (same_sequence or forgotten),
                f"{got!r} with last offset {last_offset} is not {wanted}",
            )
            opened = got.open_since == wanted.open_since
            if not opened and wanted.open_since is not None and wanted.open_since < start:
                opened = got.open_since is None or got.open_since >= start - 1000
            self._expect(opened, f"{got!r} has a transaction since {got.open_since} instead of {wanted.open_since}")
        self._expect(not here, f"{list(here.values())} have written nothing")
        deleted_part = any(
            each.open_since is not None and each.open_since < start for each in state.producers.values()
        ) or any(each.first < start <= each.last for each in state.aborted)
        if deleted_part:
            return  # depends on whether there was a snapshot
        first = state.first_open
        stable = log.log_end_offset if first is None else first
        self._expect(log.last_stable_offset == stable, f"the last stable offset is not {stable}")
        got_aborted = []
        for segment, _ in self._segments:
            images = {name.partition(".")[2]: image for name, image in segment.images()}
            got_aborted += aborted_in(images.get("txnindex", b""))
        first_here = entries[0].base if entries else log.log_end_offset
        wanted_aborted = [each for each in state.aborted if each.last >= first_here]
        if any(each.first < first_here for each in wanted_aborted):
            return
        self._expect(
            [each[:3] for each in got_aborted] == [each[:3] for each in wanted_aborted],
            f"the aborted transactions are {got_aborted} instead of {wanted_aborted}",
        )


def _content(result: ReadResult) -> bytes:
    return result.records if isinstance(result.records, bytes) else result.records.read()


def _part(entries: Sequence[Entry], version: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """Return `version` up to the last of `entries` if these are consecutive batches of it."""
    if not entries:
        return tuple(version) if not version else ()
    for at, entry in enumerate(version):
        if entry.base == entries[0].base:
            end = at + len(entries)
            return tuple(version[:end]) if tuple(version[at:end]) == tuple(entries) else None
    return None


def _first_difference(entries: Sequence[Entry], version: Sequence[Entry]) -> str:
    known = {entry.base: entry for entry in version}
    for entry in entries:
        if known.get(entry.base) != entry:
            was = known.get(entry.base)
            return f"{entry[:2]} in epoch {entry.batch.leader_epoch} where {was and was[:2]} was"
    return f"a gap, or a part, of {_text(version)}"


def _text(entries: Sequence[Entry]) -> str:
    return " ".join(f"{entry.base}-{entry.last}" for entry in entries) or "nothing"
