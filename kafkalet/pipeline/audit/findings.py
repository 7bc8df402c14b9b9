"""What an audit finds wrong, what it looked at, and what it could not look at.

A finding is something that a log must not have, or on which two places that should agree do not. `check` is one of

    checksum, unreadable, truncated      entries of a .log that cannot be read
    zeros                                zeros behind the last entry
    records                              an entry whose records contradict its header
    order, range, missing                offsets that fall, that lie outside their segment, that nothing explains
    leader-epoch                         epochs that fall, or are not those of leader-epoch-checkpoint
    offset-index, time-index, txn-index  entries of .index, .timeindex, .txnindex
    sequence, epoch, transaction         what a producer must not do
    snapshot                             a .snapshot that is not the state that the batches have made
    checkpoint                           offsets outside the log, in the small files beside it
    file                                 files that should not, or should be there
    ends                                 the log's ends as a reader of the files takes them
    directory                            what lies in a log directory and is no log; partitions that are not there
    topic-id, identity                   partition.metadata; cluster, node and directory in meta.properties
    broker, list-offsets                 a live broker's ends of the log, and its answers

and `fault` says more precisely what is wrong: `reactions.py` knows by it what Apache Kafka does on its next start.

One broken sector can make thousands of findings, so that of each fault and file the first ones are kept and the others
counted. Which of them have the same cause is found out in causes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

SHOWN = 20


class Finding(NamedTuple):
    """`position` in bytes of `file`; None where there is no such place. Without a topic it is about a directory."""

    check: str
    topic: str | None
    partition: int | None
    file: str | None
    position: int | None
    offset: int | None
    message: str
    fault: str = ""
    end_offset: int | None = None
    """Where the offsets that are affected end, exclusive, if they are more than one."""

    def __str__(self) -> str:
        where = [] if self.topic is None else [f"{self.topic}-{self.partition}"]
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.file is not None:
            where.append(self.file if self.position is None else f"{self.file}, byte {self.position}")
        return f"{self.check}: {self.message} ({'; '.join(where)})"


class NotChecked(NamedTuple):
    """Something that was to be checked and could not be."""

    topic: str | None
    partition: int | None
    path: str
    reason: str

    def __str__(self) -> str:
        name = "" if self.topic is None else f"{self.topic}-{self.partition}: "
        return f"{name}{self.path}: {self.reason}"


class Findings:
    """What came of the checks of one partition, or of one log directory."""

    def __init__(self, topic: str | None = None, partition: int | None = None) -> None:
        self.topic = topic
        self.partition = partition
        self.found: list[Finding] = []
        self.checked: Counter[str] = Counter()
        """How much was looked at, by the names in coverage.py."""
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
        """Say that the file or directory at `path` was to be checked and could not be."""
        skipped = NotChecked(self.topic, self.partition, path, reason)
        if skipped not in self.not_checked:
            self.not_checked.append(skipped)

    def merge(self, other: Findings) -> None:
        """Take in what another one has found of the same partition."""
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
        """Of which fault and file there were more than are kept, and how many more."""
        kept = Counter((finding.fault, finding.file) for finding in self.found)
        return [
            (fault, file, count - kept[fault, file])
            for (fault, file), count in self._counts.items()
            if count > kept[fault, file]
        ]
