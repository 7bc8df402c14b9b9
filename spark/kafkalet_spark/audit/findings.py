"""The findings of an audit, what was checked and what could not be checked.

A finding is an invalid state of a log, or a disagreement between two sources. `check` is one of:

    checksum, unreadable, truncated      unreadable entries of a .log
    zeros                                zeros after the last entry
    records                              records that contradict the header of their entry
    order, range, missing                offsets that decrease, are outside their segment, or are missing without reason
    leader-epoch                         epochs that decrease, or differ from leader-epoch-checkpoint
    offset-index, time-index, txn-index  entries of .index, .timeindex, .txnindex
    sequence, epoch, transaction         violations of the producer protocol
    snapshot                             a .snapshot that differs from the producer state derived from the batches
    checkpoint                           offsets in checkpoint files that are outside the log
    file                                 missing or unexpected files
    ends                                 end offsets according to indexes and snapshots
    directory                            unexpected files and directories in a log directory; missing partitions
    topic-id, identity                   topic IDs (partition.metadata); cluster, node, directory IDs (meta.properties)
    broker, list-offsets                 a live broker's log end offsets and lookup results

`fault` is more specific; kafka_startup.py uses it to look up what Apache Kafka does on its next start.

A single bad sector can cause thousands of findings. Therefore only the first few for each fault and file are kept; the
others are only counted. causes.py groups findings by cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

SHOWN = 20


class Finding(NamedTuple):
    """A finding. `position` is a byte position in `file`. A finding without a topic concerns a log directory."""

    check: str
    topic: str | None
    partition: int | None
    file: str | None
    position: int | None
    offset: int | None
    message: str
    fault: str = ""
    end_offset: int | None = None
    """The end of the range of affected offsets (exclusive), if there is more than one."""

    def __str__(self) -> str:
        where = [] if self.topic is None else [f"{self.topic}-{self.partition}"]
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.file is not None:
            where.append(self.file if self.position is None else f"{self.file}, byte {self.position}")
        return f"{self.check}: {self.message} ({'; '.join(where)})"


class NotChecked(NamedTuple):
    """A file or directory that could not be checked."""

    topic: str | None
    partition: int | None
    path: str
    reason: str

    def __str__(self) -> str:
        name = "" if self.topic is None else f"{self.topic}-{self.partition}: "
        return f"{name}{self.path}: {self.reason}"


class Findings:
    """Collects the findings about one partition or one log directory."""

    def __init__(self, topic: str | None = None, partition: int | None = None) -> None:
        self.topic = topic
        self.partition = partition
        self.found: list[Finding] = []
        self.checked: Counter[str] = Counter()
        """How much was checked, keyed by the counter names in coverage.py."""
        self.not_checked: list[NotChecked] = []
        self._counts: Counter[tuple[str, str | None]] = Counter()

    def add(
        self,
        check: str,
        message: str,
        *,
        fault: str | None = None,
        file: str | None = None,
        position: int | None = None,
        offset: int | None = None,
        end_offset: int | None = None,
    ) -> None:
        fault = fault or check
        self._counts[fault, file] += 1
        if self._counts[fault, file] <= SHOWN:
            numbers = [None if number is None else int(number) for number in (position, offset, end_offset)]
            position, offset, end_offset = numbers
            place = self.topic, self.partition, file, position, offset
            self.found.append(Finding(check, *place, message, fault, end_offset))

    def skip(self, path: str, reason: str) -> None:
        """Record that the file or directory at `path` could not be checked."""
        skipped = NotChecked(self.topic, self.partition, path, reason)
        if skipped not in self.not_checked:
            self.not_checked.append(skipped)

    def merge(self, other: Findings) -> None:
        """Add the findings of another Findings object for the same partition."""
        for check, _, _, file, position, offset, message, fault, end in other.found:
            self.add(check, message, fault=fault, file=file, position=position, offset=offset, end_offset=end)
        for key, count in other._counts.items():
            self._counts[key] += max(count - SHOWN, 0)
        self.checked.update(other.checked)
        for skipped in other.not_checked:
            self.skip(skipped.path, skipped.reason)

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def left_out(self) -> Iterable[tuple[str, str | None, int]]:
        """Return how many findings were counted but not kept, by fault and file."""
        kept = Counter((finding.fault, finding.file) for finding in self.found)
        return [
            (fault, file, count - kept[fault, file])
            for (fault, file), count in self._counts.items()
            if count > kept[fault, file]
        ]
