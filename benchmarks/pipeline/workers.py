"""How much memory Spark's Python workers take at most, by the kernel's own count (Linux)."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

INTERVAL_S = 0.05


class Peak:
    """The largest resident size that any worker reaches between `with` and its end."""

    def __init__(self) -> None:
        self.mib = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        for worker in workers():
            with contextlib.suppress(OSError):
                Path(f"/proc/{worker}/clear_refs").write_text("5")  # forget the peak so far
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self.mib = max([self.mib, *map(_peak_mib, workers())])


def workers() -> list[int]:
    """The Python processes below this one's Java."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{entry}/stat").read_text()
                name, _, rest = text.rpartition(")")
                parents[int(entry)] = (int(rest.split()[1]), name.partition("(")[2])
    below = {os.getpid()}
    while True:
        more = {process for process, (parent, _) in parents.items() if parent in below} - below
        if not more:
            break
        below |= more
    return [process for process in below - {os.getpid()} if parents[process][1].startswith("python")]


def _peak_mib(process: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
