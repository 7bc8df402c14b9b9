"""What an audit finds wrong, each with the place where it is.

A finding is something that a log must not have, or on which two places that should agree do not. One broken sector can
make thousands of them, so that of each kind and file the first ones are kept and the others counted.

    checksum, unreadable, truncated      entries of a .log that cannot be read
    records                              an entry whose records contradict its header
    order, range, missing                offsets that fall, that lie outside their segment, that nobody explains
    leader-epoch                         epochs that fall, or are not those of leader-epoch-checkpoint
    offset-index, time-index, txn-index  entries of .index, .timeindex, .txnindex
    sequence, epoch, transaction         what a producer must not do
    snapshot                             a .snapshot that is not the state that the batches have made
    checkpoint                           offsets outside the log, in the small files beside it
    file                                 files that should not, or should be there
    ends                                 the log's ends as a reader of the files takes them
    list-offsets                         a live broker's answer
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

SHOWN = 20


class Finding(NamedTuple):
    """`check` is one of the words above. `position` in bytes of `file`; None where there is no such place."""

    check: str
    topic: str
    partition: int
    file: str | None
    position: int | None
    offset: int | None
    message: str

    def __str__(self) -> str:
        where = [f"{self.topic}-{self.partition}"]
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.file is not None:
            where.append(self.file if self.position is None else f"{self.file}, byte {self.position}")
        return f"{self.check}: {self.message} ({'; '.join(where)})"


class Findings:
    """The findings about one partition, as they come."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.found: list[Finding] = []
        self._counts: Counter[tuple[str, str | None]] = Counter()

    def add(
        self,
        check: str,
        message: str,
        *,
        file: str | None = None,
        position: int | None = None,
        offset: int | None = None,
    ) -> None:
        self._counts[check, file] += 1
        if self._counts[check, file] <= SHOWN:
            place = None if position is None else int(position), None if offset is None else int(offset)
            self.found.append(Finding(check, self.topic, self.partition, file, *place, message))

    def merge(self, other: Findings) -> None:
        """Take in what another one has found of the same partition."""
        for finding in other.found:
            _, _, _, file, position, offset, message = finding
            self.add(finding.check, message, file=file, position=position, offset=offset)
        for key, count in other._counts.items():
            self._counts[key] += max(count - SHOWN, 0)

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    def left_out(self) -> Iterable[tuple[str, str | None, int]]:
        """Of which check and file there were more than are kept, and how many more."""
        kept = Counter((finding.check, finding.file) for finding in self.found)
        return [
            (check, file, count - kept[check, file])
            for (check, file), count in self._counts.items()
            if count > kept[check, file]
        ]
