"""kafkalet as a separate process."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0"]

READY = re.compile(r"kafkalet ready bootstrap=((?:[^,: ]+:\d+)(?:,[^,: ]+:\d+)*)\n")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kafkalet", *arguments], capture_output=True, text=True, timeout=30, check=False
    )


@contextmanager
def serving(*arguments: str, environment: dict[str, str] | None = None) -> "Iterator[subprocess.Popen[str]]":
    """A broker in its own process, which is killed at the end if it is still running."""
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | (environment or {}),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ready(process: "subprocess.Popen[str]") -> list[tuple[str, int]]:
    """Wait for the ready line and return the addresses in it."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = READY.fullmatch(line)
    assert found is not None, (line, process.stderr.read() if process.stderr and not line else "")
    addresses = [address.rpartition(":") for address in found[1].split(",")]
    return [(host, int(port)) for host, _, port in addresses]


SHELL_COMMAND = f"{sys.executable} -m kafkalet serve --listen 127.0.0.1:0 --log-level error"


def in_shell(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, check=False)
