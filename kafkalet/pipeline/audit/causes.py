"""Findings put together by their cause.

One missing batch makes every later entry of the .index wrong, leaves a hole in the sequences of a producer, and makes a
broker answer otherwise. That is one fault with many consequences, and is told as one:

    a loss                  bytes of a .log that cannot be read, offsets that are missing, fall or lie elsewhere, and
                            batches that lost their producer, explain what is wrong in the same log from there on
    a lost end              checkpoints, snapshots and indexes that know of more than the log holds
    half a file             what is missing in it
    the same fault again    of entries in the same file, which go wrong together
    what follows from all   ends that a reader would take, and a broker's answers
    a name                  of a directory that is not the one which checkpoints name

Findings that nothing explains are causes themselves.
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
"""Faults of a .log, by which what lies behind them may be explained."""
SHIFTED = {"offset-index", "time-index", "empty-timeindex"}
"""What a loss explains in the indexes of its own segment."""
LATER = {
    *("sequence", "epoch", "transaction", "txn-index", "no-txn-entry", "snapshot", "no-last-snapshot"),
    *("no-snapshots", "snapshot-ahead", "epoch-ahead", "ahead-recovery-point-offset-checkpoint"),
    *("ahead-replication-offset-checkpoint", "ahead-log-start-offset-checkpoint"),
}
"""What a loss explains anywhere in the log, at offsets behind it."""
DERIVED = {"ends", "list-offsets"}
"""What anything that is wrong in the log may explain."""
ONE_BY_ONE = {"checksum", "unreadable", "truncated", "missing", "records", "leader-epoch", "no-producer"}
"""Faults that stand for themselves, each time."""
SIGNS_OF_A_LOST_END = (
    *("ahead-recovery-point-offset-checkpoint", "snapshot-ahead", "ahead-replication-offset-checkpoint"),
    *("offset-index", "time-index", "txn-index", "epoch-ahead"),
)
"""Files that know of offsets behind the end of the log."""
EXPLAINS = {
    "torn-index": {"offset-index"},
    "torn-timeindex": {"time-index"},
    "torn-txnindex": {"txn-index", "no-txn-entry"},
    "txn-index": {"no-txn-entry"},
    "corrupt-log-start-offset-checkpoint": {"log-start-lost"},
}
"""What a fault explains in the same segment, or in the same log."""
RENAMED = {"stray", "foreign-directory", "partition-unknown", "empty-partition", "partition-is-file"}
SHOWN = 3


class Cause(NamedTuple):
    """A finding, and what follows from it."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()
    left_out: int = 0
    """Consequences that were only counted."""
    alike: int = 0
    """Findings of the same fault in the same file that were only counted."""

    @property
    def following(self) -> int:
        """How many consequences it has."""
        return len(self.consequences) + self.left_out

    def lines(self) -> Iterator[str]:
        """The consequences, for people: how many of which kind, and the first ones."""
        if self.alike:
            yield f"{self.alike:,} more like this in the same file"
        if not self.following:
            return
        kinds = Counter(finding.check for finding in self.consequences)
        told = ", ".join(f"{count} {check}" for check, count in kinds.most_common())
        more = f", and {self.left_out:,} more of these" if self.left_out else ""
        yield f"{self.following:,} consequence{'s' if self.following > 1 else ''}: {told}{more}"
        for finding in self.consequences[:SHOWN]:
            yield str(finding)


def causes_in_log(findings: Findings) -> list[Cause]:
    """What was found about one partition."""
    grouping = _Grouping(findings)
    grouping.by_loss()
    grouping.by_file()
    grouping.again()
    grouping.derived()
    return grouping.causes()


def causes_in_directory(findings: Findings) -> list[Cause]:
    """What was found about one log directory."""
    grouping = _Grouping(findings)
    grouping.by_name()
    grouping.by_topic()
    return grouping.causes()


def causes_together(found: Iterable[Cause]) -> list[Cause]:
    """Causes of several partitions, of which each has found the same fault in a file that they share."""
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
        """Of each finding that follows from another one, that one's place in `found`."""

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
        """Partitions of a topic that are gone together."""
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
        """Let the finding follow from the last one of the candidates that explains it."""
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
    """Whether a loss explains that the entries behind it fall or lie elsewhere."""
    return later.fault in ("order", "range") and loss.file == later.file and _offset(loss) <= _offset(later)


def _shifts(loss: Finding, entry: Finding) -> bool:
    is_about_all = entry.position is None  # of the file: its end, or that it is empty
    return _stem(loss) == _stem(entry) and (is_about_all or _offset(loss) <= _offset(entry))


def _is_about_the_same(cause: Finding, finding: Finding) -> bool:
    return not _stem(cause).isdigit() or _stem(cause) == _stem(finding)


def _leaves_behind(loss: Finding, file: Finding) -> bool:
    end = _offset(loss) + 1 if loss.end_offset is None else loss.end_offset
    return loss.fault == "missing" and _offset(loss) <= _offset(file) < end


def _is_named_after(directory: Finding, gone: Finding) -> bool:
    """Whether a directory that is not right may be the one that is gone, under another name."""
    name, wanted = os.path.basename(directory.file or ""), os.path.basename(gone.file or "")
    if directory.fault == "partition-unknown":
        return True
    return name.startswith(wanted) and not name[len(wanted) :][:1].isdigit()
