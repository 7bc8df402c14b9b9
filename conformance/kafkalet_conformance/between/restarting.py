"""Restart brokers with a command that the user specifies."""

import time
from collections.abc import Sequence

from kafkalet_conformance.playing.control import RESTART_S, run
from kafkalet_conformance.playing.target import Target

from .comparing import Unreachable, reached


def restart(command: Sequence[str], target: Target) -> None:
    """Restart a broker with a command, and wait until it responds. Raises OSError."""
    end = time.monotonic() + RESTART_S
    run("--restart", command)
    while True:
        try:
            reached(f"{target.host}:{target.port}", target.acl)
            return
        except Unreachable as error:
            if time.monotonic() >= end:
                raise OSError(f"--restart: {error}") from error
            time.sleep(0.1)
