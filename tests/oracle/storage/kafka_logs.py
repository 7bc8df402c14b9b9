"""Opens logs with the classes of Apache Kafka 3.9 (OpenLogs.java), without a broker."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle.apache_kafka import _install, _jars

RELEASE = "3.9"
SOURCE = Path(__file__).with_name("OpenLogs.java")


class Opening(NamedTuple):
    """A log to open: its directory, whether it was shut down cleanly, and its offsets in the checkpoints."""

    directory: Path
    clean: bool
    start: int = 0
    recovery_point: int = 0


def opened_by_kafka(logs: Sequence[Opening], properties: Mapping[str, str], now_ms: int) -> list[dict[str, Any]]:
    """Open and close these logs. Return the offsets, segments, producers and epochs of each, or the `error`."""
    _install(RELEASE)
    lines = ""
    for log in logs:
        wanted = log._asdict() | {"path": str(log.directory), "now_ms": now_ms, "config": dict(properties)}
        del wanted["directory"]
        lines += json.dumps(wanted) + "\n"
    command = ["java", "-Xmx384m", "-cp", f"{_jars(RELEASE)}/*", str(SOURCE)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(logs), done.stderr[-3000:]
    return answers
