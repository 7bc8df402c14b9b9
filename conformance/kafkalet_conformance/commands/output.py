"""The files, the output and the help of `kafkalet conform` and its subcommands."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from kafkalet.commands.command_line import Failure, UsageError

if TYPE_CHECKING:
    from kafkalet_conformance.reports.terminal import Style
    from kafkalet_conformance.results import Run

REPORTS = ("json", "junit", "html")


def check_files(given: dict[str, list[str]], names: Sequence[str] = REPORTS) -> None:
    """Raise UsageError if a report could not be written, before the run begins."""
    from kafkalet_conformance.reports.files import STDOUT, problem

    paths = {f"--{name}": given[name][0] for name in names if name in given}
    for option, path in paths.items():
        if reason := problem(path):
            raise UsageError(f"{option} {path}: {reason}")
    if list(paths.values()).count(STDOUT) > 1:
        raise UsageError(f"{' and '.join(paths)} cannot all be written to the standard output; name files")


def write_file(option: str, path: str, text: str) -> None:
    """Write a report. Raises Failure, with the name of the option, if that is not possible."""
    from kafkalet_conformance.reports.files import write

    try:
        write(path, text)
    except OSError as error:
        raise Failure(f"{option} {path}: {error.strerror or error}") from error


def read_report(option: str, path: str) -> Run:
    """Read a JSON report. Raises UsageError, with the name of the option, if the file is not one."""
    from kafkalet_conformance.reports.json_report import NotAReport, read

    try:
        return read(path)
    except NotAReport as error:
        raise UsageError(f"{option} {path}: {error}".lstrip()) from error


def width() -> int:
    """Return the width of the terminal in columns, or 120 if there is no terminal."""
    return shutil.get_terminal_size((120, 24)).columns


def style_of(given: dict[str, list[str]], stream: TextIO | None) -> Style:
    """Return the style for a stream: colors only on terminals, and not if NO_COLOR is set."""
    from kafkalet_conformance.reports.terminal import Style

    on_terminal = stream is not None and stream.isatty()
    return Style(
        width=width(),
        color=on_terminal and not os.environ.get("NO_COLOR"),
        verbose="verbose" in given,
        hexadecimal="bytes" in given,
    )


def output_of(given: dict[str, list[str]]) -> TextIO | None:
    """Return the stream for tables: stderr if a report goes to the standard output."""
    return sys.stderr if any(given.get(name) == ["-"] for name in REPORTS) else sys.stdout


def print_lines(lines: Iterable[str], stream: TextIO | None) -> None:
    """Print lines to stdout or stderr. Characters that its encoding lacks are escaped."""
    if stream is None:  # the process was started without this stream
        return
    encoding = stream.encoding or "utf-8"
    try:
        for line in lines:
            print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
        stream.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. The interpreter must not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        raise Failure(f"cannot write the results: {error.strerror}") from error
