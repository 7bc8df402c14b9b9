"""Build the load generators and kfake, on first use and when their sources have changed, into `.venv/bench/`.

If a program cannot be built, the comparison says why, and leaves out the rows or the broker that need it.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).resolve().parent
BUILT = SOURCES.parent.parent / ".venv" / "bench"


class Tool(NamedTuple):
    """A command that a build needs."""

    command: str
    advice: str


GO = Tool("go", "install Go 1.26 or newer (https://go.dev/dl)")
CC = Tool("cc", "install a C compiler (Debian: gcc; macOS: xcode-select --install)")


class Program(NamedTuple):
    """A program: its source directory or file, the tool to build it with, and the commands that build it."""

    source: str
    tool: Tool
    commands: Callable[[Path], list[list[str]]]
    advice: str = ""
    """What else the build needs."""


PROGRAMS = {
    "rawload": Program("rawload", GO, lambda to: [["go", "test", "."], ["go", "build", "-o", str(to), "."]]),
    "kfake": Program(
        "kfake",
        GO,
        lambda to: [["go", "build", "-o", str(to), "."]],
        "the first build downloads kfake through the Go module proxy",
    ),
    "transfer": Program(
        "transfer.c",
        CC,
        lambda to: [["cc", "-O2", "-o", str(to), "transfer.c", "-lrdkafka"]],
        "install librdkafka with its headers (Debian: librdkafka-dev; macOS: brew install librdkafka)",
    ),
    "rotation": Program(
        "rotation.c", CC, lambda to: [["cc", "-O2", "-o", str(to), "rotation.c"]], "it needs the epoll of Linux"
    ),
}


def program(name: str) -> Path | None:
    """Return the path of a built program; print the reason and return None if it cannot be built."""
    source, tool, commands, advice = PROGRAMS[name]
    to, path = BUILT / name, SOURCES / source
    files = [file for file in path.iterdir() if file.is_file()] if path.is_dir() else [path]
    if to.exists() and to.stat().st_mtime > max(file.stat().st_mtime for file in files):
        return to
    if shutil.which(tool.command) is None:
        _report(name, f"{tool.command} is not on the PATH: {tool.advice}")
        return None
    BUILT.mkdir(parents=True, exist_ok=True)
    for command in commands(to):
        done = subprocess.run(
            command, cwd=path if path.is_dir() else SOURCES, capture_output=True, text=True, check=False
        )
        if done.returncode:
            output = (done.stdout + done.stderr).strip()
            _report(name, f"{' '.join(command)} failed{advice and f' ({advice})'}:\n{output}")
            return None
    return to


def _report(name: str, reason: str) -> None:
    print(f"{name} is not built, so what needs it is left out. {reason}", file=sys.stderr)
