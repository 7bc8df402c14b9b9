"""Writes reports to files.

A file is replaced only when its report is complete. `-` is the standard output.
"""

import os
import stat
import sys
from contextlib import suppress

STDOUT = "-"


def problem(path: str) -> str:
    """Return why a report cannot be written to this path; "" if it can. The path is checked before a run begins."""
    if path == STDOUT:
        return "" if sys.stdout is not None else "the standard output is closed"
    directory = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(directory):
        return f"there is no directory {directory}"
    if os.path.isdir(path):
        return "it is a directory"
    if not os.access(path if os.path.exists(path) and not _is_regular(path) else directory, os.W_OK):
        return "no permission to write there"
    return ""


def write(path: str, text: str) -> None:
    """Write a report. Raises OSError."""
    data = text.encode("utf-8", "backslashreplace")
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = os.path.realpath(path)  # keep a symbolic link and replace its target
    if os.path.exists(path) and not _is_regular(path):  # a device or a pipe cannot be replaced
        with open(path, "wb") as file:
            file.write(data)
        return
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _is_regular(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)
