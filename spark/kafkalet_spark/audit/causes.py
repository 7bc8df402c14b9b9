"""Group findings by their cause.

A single missing batch invalidates all later entries of the .index, leaves a gap in a producer's sequence numbers, and
changes a broker's responses. Such a fault is reported once, together with its consequences:

    loss               unreadable bytes of a .log, missing, decreasing or misplaced offsets, and batches without a
                       producer explain later findings in the same log
    lost end           explains checkpoints, snapshots and indexes that refer to offsets past the log end
    truncated file     explains the entries that are missing from it
    repeated fault     explains further findings of the same fault in the same file
    derived results    any fault in a log explains wrong end offsets and broker responses
    renamed directory  explains a missing partition that is named in checkpoints

A finding that no other finding explains is itself a cause.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .findings import Finding, Findings

LOSSES = (
    *("checksum", "unreadable", "truncated", "zeros", "missing", "end-lost", "gone", "order", "range", "records"),
    *("no-producer", "log-is-no-file"),
)
"""Faults in a .log file that may explain findings at later offsets."""
SHIFTED = {"offset-index", "time-index", "empty-timeindex"}
"""Faults that a loss explains in the indexes of the same segment."""
LATER = {
    *("sequence", "epoch", "transaction", "txn-index", "no-txn-entry", "snapshot", "no-last-snapshot"),
    *("no-snapshots", "snapshot-ahead", "epoch-ahead", "ahead-recovery-point-offset-checkpoint"),
    *("ahead-replication-offset-checkpoint", "ahead-log-start-offset-checkpoint"),
}
"""Faults that a loss explains at any later offset in the log."""
DERIVED = {"ends", "list-offsets"}
"""Faults that any other fault in the log may explain."""
ONE_BY_ONE = {"checksum", "unreadable", "truncated", "missing", "removed", "records", "leader-epoch", "no-producer"}
"""Faults for which each occurrence counts as a separate cause."""
SIGNS_OF_A_LOST_END = (
    *("ahead-recovery-point-offset-checkpoint", "snapshot-ahead", "ahead-replication-offset-checkpoint"),
    *("offset-index", "time-index", "txn-index", "epoch-ahead"),
)
"""Faults in which another file refers to offsets past the log end."""
EXPLAINS = {
    "torn-index": {"offset-index"},
    "torn-timeindex": {"time-index"},
    "torn-txnindex": {"txn-index", "no-txn-entry"},
    "txn-index": {"no-txn-entry"},
    "records": {"removed"},
    "no-producer-epoch": {"epoch"},
    "corrupt-log-start-offset-checkpoint": {"log-start-lost"},
}
"""For each fault, the other faults that it explains in the same segment or log."""
RENAMED = {"stray", "foreign-directory", "partition-unknown", "empty-partition", "partition-is-file"}
SHOWN = 3


class Cause(NamedTuple):
    """A finding and its consequences."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()
    left_out: int = 0
    """How many further consequences were counted but not kept."""
    alike: int = 0
    """The number of further findings of the same fault in the same file that were counted but not kept."""

    @property
    def following(self) -> int:
        """The number of consequences."""
        return len(self.consequences) + self.left_out

    def lines(self) -> Iterator[str]:
        """Describe the consequences: the number of each kind, and the first few in full."""
        if self.alike:
            yield f"{self.alike:,} more of the same kind in this file"
        if not self.following:
            return
        kinds = Counter(finding.check for finding in self.consequences)
        checks = ", ".join(f"{count} {check}" for check, count in kinds.most_common())
        more = f", and {self.left_out:,} more" if self.left_out else ""
        yield f"{self.following:,} consequence{'s' if self.following > 1 else ''}: {checks}{more}"
        for finding in self.consequences[:SHOWN]:
            yield str(finding)


def causes_in_log(findings: Findings) -> list[Cause]:
    """Group the findings of a partition by cause."""
    grouping = _Grouping(findings)
    grouping.by_loss()
    grouping.by_file()
    grouping.again()
    grouping.derived()
    return grouping.causes()


def causes_in_directory(findings: Findings) -> list[Cause]:
    """Group the findings of a log directory by cause."""
    grouping = _Grouping(findings)
    grouping.by_name()
    grouping.by_topic()
    return grouping.causes()


def causes_together(found: Iterable[Cause]) -> list[Cause]:
    """Merge causes that several partitions report for the same shared file, such as a corrupt offset checkpoint."""
    shared: dict[tuple[str, str | None, int | None], Cause] = {}
    result: list[Cause] = []
    for cause in found:
        finding = cause.finding
        key = finding.fault, finding.file, finding.position
        if not finding.fault.endswith("-offset-checkpoint") or not finding.fault.startswith("corrupt-"):
            result.append(cause)
        elif key not in shared:
            shared[key] = Cause(finding._replace(topic=None, partition=None), cause.consequences)
            result.append(shared[key])
        elif cause.consequences:
            first = shared[key]
            shared[key] = Cause(first.finding, (*first.consequences, *cause.consequences))
            result[result.index(first)] = shared[key]
    return result


class _Grouping:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.found = findings.found
        self.parent: dict[int, int] = {}
        """Maps the index of each explained finding in `found` to the index of the finding that explains it."""

    def by_loss(self) -> None:
        losses = [at for at, finding in enumerate(self.found) if finding.fault in LOSSES]
        losses.sort(key=lambda at: (_offset(self.found[at]), LOSSES.index(self.found[at].fault)))
        for place, at in enumerate(losses):
            self._follow(at, losses[:place], _spoils)
        for at, finding in enumerate(self.found):
            if finding.fault in SHIFTED:
                self._follow(at, losses, _shifts)
            elif finding.fault in LATER:
                self._follow(at, losses, lambda loss, later: _offset(loss) <= _offset(later))
            elif finding.fault == "no-log":
                self._follow(at, losses, _leaves_behind)

    def by_file(self) -> None:
        for at, finding in enumerate(self.found):
            causes = [cause for cause, other in enumerate(self.found) if finding.fault in EXPLAINS.get(other.fault, ())]
            if at not in self.parent:
                self._follow(at, causes, _is_about_the_same)

    def again(self) -> None:
        first: dict[tuple[str, str | None], int] = {}
        for at, finding in enumerate(self.found):
            if finding.fault in ONE_BY_ONE or at in self.parent:
                continue
            key = finding.fault, f"offset {finding.offset}" if finding.fault == "no-log" else finding.file
            if (cause := first.setdefault(key, at)) != at:
                self.parent[at] = cause

    def derived(self) -> None:
        others = [at for at, finding in enumerate(self.found) if finding.fault not in DERIVED and at not in self.parent]
        answers = [at for at, finding in enumerate(self.found) if finding.fault == "list-offsets"]
        for at, finding in enumerate(self.found):
            if finding.fault in DERIVED and others:
                self.parent[at] = others[0]
            elif finding.fault == "ends" and answers:
                self.parent[at] = answers[0]

    def by_name(self) -> None:
        renamed = [at for at, finding in enumerate(self.found) if finding.fault in RENAMED]
        for at, finding in enumerate(self.found):
            if finding.fault == "partition-gone":
                self._follow(at, renamed, _is_named_after)

    def by_topic(self) -> None:
        """Group missing partitions by topic."""
        first: dict[str, int] = {}
        for at, finding in enumerate(self.found):
            if finding.fault == "partition-gone" and at not in self.parent:
                topic = os.path.basename(finding.file or "").rpartition("-")[0]
                if (cause := first.setdefault(topic, at)) != at:
                    self.parent[at] = cause

    def causes(self) -> list[Cause]:
        members: dict[int, list[Finding]] = {}
        left_out: Counter[int] = Counter()
        alike: Counter[int] = Counter()
        last: dict[tuple[str, str | None], int] = {}
        for at, finding in enumerate(self.found):
            root = self._root(at)
            last[finding.fault, finding.file] = root
            members.setdefault(root, [])
            if root != at:
                members[root].append(finding)
        for fault, file, count in self.findings.left_out():
            root = last[fault, file]
            (alike if self.found[root].fault == fault else left_out)[root] += count
        return [Cause(self.found[at], tuple(following), left_out[at], alike[at]) for at, following in members.items()]

    def _follow(self, at: int, candidates: Sequence[int], explains: Callable[[Finding, Finding], bool]) -> None:
        """Set the parent of a finding to the last candidate that explains it."""
        for cause in reversed(candidates):
            if cause != at and explains(self.found[cause], self.found[at]):
                self.parent[at] = cause
                return

    def _root(self, at: int) -> int:
        while at in self.parent:
            at = self.parent[at]
        return at


def _offset(finding: Finding) -> int:
    return -1 if finding.offset is None else finding.offset


def _stem(finding: Finding) -> str:
    return os.path.basename(finding.file or "").partition(".")[0]


def _spoils(loss: Finding, later: Finding) -> bool:
    """Return whether a loss explains the wrong offset of a later entry."""
    return later.fault in ("order", "range") and loss.file == later.file and _offset(loss) <= _offset(later)


def _shifts(loss: Finding, entry: Finding) -> bool:
    is_about_all = entry.position is None  # The finding concerns the whole file: its end, or an empty file.
    return _stem(loss) == _stem(entry) and (is_about_all or _offset(loss) <= _offset(entry))


def _is_about_the_same(cause: Finding, finding: Finding) -> bool:
    return not _stem(cause).isdigit() or _stem(cause) == _stem(finding)


def _leaves_behind(loss: Finding, file: Finding) -> bool:
    end = _offset(loss) + 1 if loss.end_offset is None else loss.end_offset
    return loss.fault == "missing" and _offset(loss) <= _offset(file) < end


def _is_named_after(directory: Finding, gone: Finding) -> bool:
    """Return whether an unexpected directory may be the missing partition under another name."""
    name, wanted = os.path.basename(directory.file or ""), os.path.basename(gone.file or "")
    if directory.fault == "partition-unknown":
        return True
    return name.startswith(wanted) and not name[len(wanted) :][:1].isdigit()
