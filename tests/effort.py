"""Count the lines of Python that a call executes, as a measure of work that does not depend on the machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def executed_lines(call: Callable[[], object]) -> int:
    """Return the number of lines that `call` executes, in all functions it enters."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(previous)
    return lines
