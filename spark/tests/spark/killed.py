"""Runs a Spark driver in a separate process, and kills it at a chosen moment.

The process runs a script that calls `wait_to_be_killed()`, which creates a file and waits; then `run_until_killed`
sends SIGKILL to the process and to the JVM and Python workers that it started.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.source import ROOT

TIMEOUT_S = 240
MOMENT = "KAFKALET_TEST_MOMENT"


def wait_to_be_killed() -> None:
    """Signal that the process can be killed now, and wait."""
    Path(os.environ[MOMENT]).touch()
    while True:
        time.sleep(1)


def run_until_killed(script: Callable[..., None], moment: Path, *arguments: str) -> None:
    """Run a function of a test module in a new process until it waits to be killed."""
    parts = [str(ROOT), str(ROOT / "spark")]
    code = (
        f"import sys; sys.path[:0] = {parts!r}; from {script.__module__} import {script.__name__}; "
        f"{script.__name__}(*sys.argv[1:])"
    )
    environment = {**os.environ, MOMENT: str(moment), "PYTHONPATH": os.pathsep.join(parts)}
    log = moment.with_suffix(".log")
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=environment, start_new_session=True, stdout=output, stderr=output, cwd=moment.parent,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not moment.exists():
                assert process.poll() is None, f"the process ended by itself: {log.read_text()[-4000:]}"
                assert time.monotonic() < deadline, f"the moment did not come: {log.read_text()[-4000:]}"
                time.sleep(0.05)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
