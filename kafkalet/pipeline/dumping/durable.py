"""What is written so that it outlives the process and the machine, and is there whole or not at all.

Small files are JSON of a version: written under another name, flushed to the disk, renamed. What tasks have written
is flushed file by file before a run counts, and the directories after renames; by many threads, as a disk takes many
such requests for hardly more than one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

VERSION = 1
THREADS = 16


class NoManifest(Exception):
    """A file of the dump that cannot be understood. The text names it and says why."""


def read_json(path: str) -> Mapping[str, Any]:
    """An object of JSON of this version. Raises FileNotFoundError and NoManifest."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise NoManifest(f"{path}: not JSON: {error}") from error
    version = found.get("version") if isinstance(found, dict) else None
    if version != VERSION:
        raise NoManifest(f"{path}: version {version}, where this kafkalet reads and writes {VERSION}")
    return dict(found)


def write_json(path: str, value: object) -> None:
    """Put `value` at `path`, whole or not at all, and so that it outlives the machine."""
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    flush([os.path.dirname(path)])


def flush(paths: Iterable[str]) -> None:
    """Let files, and the names in directories, outlive the machine. Raises FileNotFoundError."""
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(_flush, paths):
            pass


def _flush(path: str) -> None:
    if os.name != "posix" and os.path.isdir(path):
        return  # Windows opens no directories
    number = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)
