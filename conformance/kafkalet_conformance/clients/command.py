"""The command that is judged: a process in its own process group, and the lines that it prints.

The process group is killed when the command ends or its time limit has passed, so that no child survives.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

MOST_LINES = 100_000
"""The maximum number of lines on stdout. A client that prints more is killed."""
MOST_LOG_LINES = 500
MOST_LOG_CHARS = 500
MOST_CHARS = 1_000_000
"""Longer lines are truncated."""
READING_S = 2.0
"""The time for reading the rest of the pipes after the process group was killed."""


class Command:
    """A running command. Its lines are read in threads."""

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], ended: Callable[[], None], directory: str | None
    ) -> None:
        """Start the command. When the process has ended, `ended` is called in another thread.

        Raises OSError if the command cannot be started.
        """
        self.lines: list[str] = []
        """The lines on stdout."""
        self.log: deque[str] = deque(maxlen=MOST_LOG_LINES)
        """The last lines on stdout and stderr."""
        self.was_killed = False
        """Whether the command had to be killed because its time limit had passed."""
        self._ended = ended
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._is_reaped = False
        self._process = subprocess.Popen(  # noqa: S603 - the user's own command
            list(words),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd=directory,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, self.lines.append), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, None), daemon=True),
        ]
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        for thread in (*self._readers, self._watcher):
            thread.start()

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the command runs."""
        return self._process.returncode

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the command has ended; return False if it still runs after this time."""
        return self._is_over.wait(seconds)

    def kill(self) -> None:
        """Kill the process group of the command, if the command still runs, and wait for its end."""
        with self._lock:
            if not self._is_reaped:
                self.was_killed = True
                self._kill_group()
        self._is_over.wait()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _watch(self) -> None:
        """Wait for the end of the process, kill its children, and read the rest of its lines."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # its id cannot be reused until it is reaped
        with self._lock:
            self._kill_group()
            self._process.wait()
            self._is_reaped = True
        for reader in self._readers:
            reader.join(READING_S)
        self._is_over.set()
        self._ended()

    def _read(self, stream: IO[bytes], keep: Callable[[str], None] | None) -> None:
        with stream:
            for line in iter(lambda: stream.readline(MOST_CHARS), b""):
                text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
                self.log.append(text[:MOST_LOG_CHARS])
                if keep is not None:
                    keep(text)
                    if len(self.lines) >= MOST_LINES:
                        self.log.append(f"(the command printed more than {MOST_LINES} lines, and was killed)")
                        threading.Thread(target=self.kill, daemon=True).start()
                        return
