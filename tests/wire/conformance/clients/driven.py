"""Runs a driver as `kafkalet conform client` does: with a task in environment variables."""

import itertools
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

COUNT = 20
VALUES = [str(number) for number in range(COUNT)]
LIMIT_S = 60

_numbers = itertools.count()


class Ended(NamedTuple):
    """A driver that has ended: its exit status and its lines, split at blanks."""

    status: int
    lines: list[list[str]]
    stderr: str

    def of(self, kind: str) -> list[list[str]]:
        """Return the words after `kind` of each line that starts with it."""
        return [words for first, *words in self.lines if first == kind]

    def values(self) -> list[str]:
        """Return the values of the lines `record PARTITION OFFSET VALUE`, sorted by number."""
        return sorted((value for _, _, value in self.of("record")), key=int)


def new_topic() -> str:
    return f"driven-{next(_numbers)}"


def drive(command: list[str | Path], bootstrap: str, role: str, topic: str, **settings: str) -> Ended:
    """Run a driver; `group="g"` sets KAFKALET_GROUP."""
    task = {"ROLE": role, "TOPIC": topic, "COUNT": str(COUNT), "TIMEOUT_S": str(LIMIT_S)}
    task |= {name.upper(): value for name, value in settings.items()}
    environment = {f"KAFKALET_{name}": value for name, value in task.items()} | {"KAFKA_BOOTSTRAP_SERVERS": bootstrap}
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S + 30,
        check=False,
    )
    return Ended(done.returncode, [line.split(" ") for line in done.stdout.splitlines()], done.stderr)
