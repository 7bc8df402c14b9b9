"""What a check of the files of a data directory reports.

A fault is a contradiction: data that cannot be read, or a file that disagrees with another one. A note is something
that is normal in a directory that is in use or was not closed cleanly, such as the padding of a preallocated index.
"""

import os
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeVar

from kafkalet.formats import Malformed

T = TypeVar("T")


class Severity(Enum):
    FAULT = "fault"
    NOTE = "note"


class Finding(NamedTuple):
    """A fault or a note. `check` names the kind in a few words; tools may rely on it."""

    severity: Severity
    path: str
    position: int | None
    """The position in the file in bytes; None if the finding concerns the whole file."""
    check: str
    message: str

    def __str__(self) -> str:
        where = self.path if self.position is None else f"{self.path} at byte {self.position}"
        return f"{where}: {self.check}: {self.message}"


class Report:
    """Passes findings to `show` as they are made, and counts what was checked.

    A damaged file may have a fault in every entry. After MOST_ALIKE faults of one kind in a file, or MOST_NOTES notes
    of one kind in a directory, further ones are only counted; `finish` reports their number.
    """

    MOST_ALIKE = 20
    MOST_NOTES = 3

    def __init__(self, show: Callable[[Finding], object]) -> None:
        self._show = show
        self._alike: Counter[tuple[Severity, str, str]] = Counter()
        self.faults = 0
        self.notes = 0
        self.files = 0
        self.bytes = 0
        self.batches = 0
        self.records = 0

    def fault(self, path: str, position: int | None, check: str, message: str) -> None:
        self.faults += 1
        self._add(path, self.MOST_ALIKE, Finding(Severity.FAULT, path, position, check, message))

    def note(self, path: str, check: str, message: str, position: int | None = None) -> None:
        self.notes += 1
        self._add(os.path.dirname(path), self.MOST_NOTES, Finding(Severity.NOTE, path, position, check, message))

    def _add(self, place: str, most: int, finding: Finding) -> None:
        self._alike[finding.severity, place, finding.check] += 1
        if self._alike[finding.severity, place, finding.check] <= most:
            self._show(finding)

    def checked(self, size_bytes: int) -> None:
        """Count a file that was checked."""
        self.files += 1
        self.bytes += size_bytes

    def finish(self) -> None:
        """Report how many findings were only counted since the last call."""
        for of, most in ((Severity.NOTE, self.MOST_NOTES), (Severity.FAULT, self.MOST_ALIKE)):
            for (severity, place, check), count in self._alike.items():
                if severity is of and count > most:
                    text = f"{count - most:,} more {severity.value}s of this kind"
                    self._show(Finding(severity, place, None, check, text))
        self._alike.clear()


def parsed(path: str, read: Callable[[str], T], report: Report) -> T | None:
    """Return the contents of a file; None if it does not exist or is malformed, which is reported."""
    try:
        found = read(path)
    except FileNotFoundError:
        return None
    except Malformed as error:
        report.fault(path, error.position, "format", error.reason)
        return None
    report.checked(os.path.getsize(path))
    return found
