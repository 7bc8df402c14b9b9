"""Encode messages with Kafka's own Java classes, for `tests/unit/protocol/vectors/messages.json`.

    echo '["ListTransactionsRequest", 2, {"stateFilters": ["Ongoing"], ...}]' | python -m tests.oracle.frames [4.4]

reads one message per line, with values in the format of Kafka's JSON converters (all fields of the version are
required), and prints the entry of each. Records are not supported. This needs Java and, on first use, Maven.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .apache_kafka import _install, _jars, missing

SOURCE = Path(__file__).with_name("Frames.java")


def encoded(messages: Iterable[tuple[str, int, Any]], release: str) -> list[bytes]:
    """Encode messages, given by name, version and values, with the classes of a release."""
    _install(release)
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    command = ["java", "-cp", f"{_jars(release)}/*", str(SOURCE)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"Kafka's classes rejected a message:\n{done.stderr[-3000:]}")
    return [bytes.fromhex(line) for line in done.stdout.splitlines()]


def main(release: str = "4.4") -> None:
    if reason := missing(release):
        raise SystemExit(f"cannot run Kafka's classes, because {reason}")
    messages = [json.loads(line) for line in sys.stdin]
    for (name, version, _), data in zip(messages, encoded(messages, release), strict=True):
        print(f"{json.dumps([name, version, data.hex()], separators=(',', ':'))},")


if __name__ == "__main__":
    main(*sys.argv[1:])
