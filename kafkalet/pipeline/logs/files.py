"""Reading files that must be what their names promise."""

from __future__ import annotations


class CorruptFile(Exception):
    """The file at `path` is not what its name promises, from byte `position` on."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)  # all of them, so that it can be pickled
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}, byte {self.position}: {self.reason}"


def read_whole(path: str) -> bytes:
    """All bytes of a small file. Raises FileNotFoundError."""
    with open(path, "rb") as file:
        return file.read()
