"""Restart a broker with a command that the user specifies."""

import subprocess
import time
from collections.abc import Sequence

from kafkalet_conformance.playing.target import Target

from .comparing import Unreachable, reached

RESTART_S = 120
"""The time limit for a restart."""


def restart(command: Sequence[str], target: Target) -> None:
    """Restart a broker with a command, and wait until it responds. Raises OSError."""
    end = time.monotonic() + RESTART_S
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=RESTART_S)  # noqa: S603 - the user's command
    except subprocess.SubprocessError as error:
        raise OSError(f"--restart: {error}") from error
    while True:
        try:
            reached(f"{target.host}:{target.port}", target.acl)
            return
        except Unreachable as error:
            if time.monotonic() >= end:
                raise OSError(f"--restart: {error}") from error
            time.sleep(0.1)
