"""The progress of a running comparison."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from kafkalet.units import counted

from .comparing import Comparison

PROGRESS_S = 30
"""The interval between lines if the output is not a terminal."""


@contextmanager
def progress_on(stream: TextIO | None) -> Iterator[Callable[[Comparison], None]]:
    """Yield a function that shows the progress of a comparison: in one line of a terminal, or in a new line now and
    then.
    """
    is_terminal = stream is not None and stream.isatty()
    shown = time.monotonic()

    def show_progress(done: Comparison) -> None:
        nonlocal shown
        now = time.monotonic()
        if stream is None or (not is_terminal and now - shown < PROGRESS_S):
            return
        shown = now
        text = (
            f"{counted(done.histories.total(), 'history', 'histories')}, "
            f"{counted(done.coverage.responses, 'response')}, {counted(done.kinds.total(), 'difference')}"
        )
        stream.write(f"\r\x1b[K{text}" if is_terminal else f"{text}\n")
        stream.flush()

    try:
        yield show_progress
    finally:
        if stream is not None and is_terminal:
            stream.write("\r\x1b[K")
            stream.flush()
