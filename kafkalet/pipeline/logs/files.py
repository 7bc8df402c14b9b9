"""Reading files that must be what their names promise."""

from __future__ import annotations

import os
import stat


class CorruptFile(Exception):
    """The file at `path` is not what its name promises, from byte `position` on."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)  # all of them, so that it can be pickled
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}, byte {self.position}: {self.reason}"


class UnreadableFile(CorruptFile):
    """The file at `path` is there and cannot be read: nothing is known of its content."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def read_whole(path: str) -> bytes:
    """All bytes of a small file. Raises FileNotFoundError; UnreadableFile for one that is there and cannot be read."""
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
    """Why the name cannot be opened as a file, found without opening it: opening a pipe would block.

    None: nothing speaks against it. Raises FileNotFoundError where the name does not exist.
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
    """What the system says, without the name of the file."""
    return error.strerror or str(error)
