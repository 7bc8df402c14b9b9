"""Processor time and memory of this process and its descendants: Spark, its workers and the brokers (Linux only).

On a machine with other load, processor time is more meaningful than elapsed time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

INTERVAL_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One process, as described by /proc/PID/stat."""

    number: int
    name: str
    parent: int
    ticks: int


class Usage:
    """The processor time of all processes, and the peak resident size of a Python worker, during a `with` block."""

    def __init__(self) -> None:
        self.worker_mib = 0.0
        self._before: dict[int, int] = {}
        self._now: dict[int, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        for worker in _workers():
            with contextlib.suppress(OSError):
                Path(f"/proc/{worker}/clear_refs").write_text("5")  # reset the peak resident size
        self._before = {process.number: process.ticks for process in _family()}
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """The processor time used by all processes, including those that have ended, in seconds."""
        return sum(ticks - self._before.get(number, 0) for number, ticks in self._now.items()) / _TICKS

    def _watch(self) -> None:
        ended = False
        while not ended:
            ended = self._ended.wait(INTERVAL_S)
            self._now |= {process.number: process.ticks for process in _family()}
            self.worker_mib = max([self.worker_mib, *map(_peak_mib, _workers())])


def _family() -> list[Process]:
    """Return this process and all its descendants."""
    found = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            with contextlib.suppress(OSError):
                name, _, rest = Path(f"/proc/{entry}/stat").read_text().partition("(")[2].rpartition(")")
                fields = rest.split()
                found[int(entry)] = Process(int(entry), name, int(fields[1]), sum(map(int, fields[11:13])))
    family = {os.getpid()}
    while more := {each.number for each in found.values() if each.parent in family} - family:
        family |= more
    return [found[number] for number in family if number in found]


def _workers() -> list[int]:
    """Return the ids of Spark's Python workers: Python processes that descend from a JVM."""
    family = {process.number: process for process in _family()}
    return [
        process.number
        for process in family.values()
        if process.name.startswith("python") and _is_below_java(process, family)
    ]


def _is_below_java(process: Process, family: dict[int, Process]) -> bool:
    while (parent := family.get(process.parent)) is not None:
        if parent.name == "java":
            return True
        process = parent
    return False


def _peak_mib(process: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
