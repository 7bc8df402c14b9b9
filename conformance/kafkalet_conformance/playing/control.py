"""Stop and start brokers with a command that the user specifies."""

import subprocess
from collections.abc import Sequence

RESTART_S = 120
"""The time limit for a restart."""


def run(option: str, command: Sequence[str]) -> None:
    """Run the command of an option. Raises OSError."""
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=RESTART_S)  # noqa: S603 - the user's command
    except subprocess.SubprocessError as error:
        raise OSError(f"{option}: {error}") from error


class Control:
    """Stops and starts the brokers of a cluster: its address, an action and the id of a broker follow the command."""

    def __init__(self, command: Sequence[str], address: str) -> None:
        self._command = (*command, address)

    def _run(self, action: str, node_id: int, *more: str) -> None:
        run("--control", [*self._command, action, str(node_id or "controller"), *more])

    def stop(self, node_id: int) -> None:
        self._run("stop", node_id)

    def kill(self, node_id: int) -> None:
        self._run("kill", node_id)

    def start(self, node_id: int) -> None:
        self._run("start", node_id)

    def pause(self, node_id: int) -> None:
        self._run("pause", node_id)

    def resume(self, node_id: int) -> None:
        self._run("resume", node_id)

    def cut_off(self, node_id: int, *peers: str) -> None:
        self._run("cut-off", node_id, *peers)

    def reconnect(self, node_id: int) -> None:
        self._run("reconnect", node_id)
