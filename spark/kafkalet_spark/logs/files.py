"""Read whole files. Also defines the exceptions for files that are corrupt or cannot be read."""

from __future__ import annotations

import os
import stat


class CorruptFile(Exception):
    """The file at `path` is corrupt at byte `position`."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)  # pass all arguments, so that the exception can be pickled
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}, byte {self.position}: {self.reason}"


class UnreadableFile(CorruptFile):
    """The file at `path` exists but cannot be read; its content is unknown."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def read_whole(path: str) -> bytes:
    """Return the content of a small file. Raises FileNotFoundError, or UnreadableFile if it exists but cannot be
    read."""
    if (reason := why_unreadable(path)) is not None:
        raise UnreadableFile(path, 0, reason)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableFile(path, 0, reason_of(error)) from error


def why_unreadable(path: str) -> str | None:
    """Return the reason why the path cannot be opened as a file, or None if it can. The path is not opened, because
    opening a pipe would block.

    Raises FileNotFoundError if the path does not exist.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if os.path.islink(path):
            return f"it is a link to {os.readlink(path)}, which does not exist"
        raise
    except OSError as error:
        return reason_of(error)
    if stat.S_ISDIR(mode):
        return "it is a directory, not a file"
    if not stat.S_ISREG(mode):
        return "it is not a regular file"
    return None if os.access(path, os.R_OK) else "Permission denied"


def reason_of(error: OSError) -> str:
    """Return the operating system's error message without the file name."""
    return error.strerror or str(error)
