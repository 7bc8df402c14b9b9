"""`kafkalet top`: a live overview of the brokers in a terminal, from the control API.

    ControlClient.events ──> State ──> View: lines of spans ──> Terminal, or stdout once

The view is redrawn with a few ANSI codes after each event, each key and each second, until q or Ctrl-C. The terminal is
always restored on exit, including exits by a signal.
"""

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import FrameType
from typing import Any, Self, TextIO

from kafkalet.clock import elapsed_s

from .client import ControlClient, ControlError
from .overview import PARTS, Json, Line, Navigation, State, View, painted, read

DRAW_S = 0.1
"""The minimum time between two drawings."""
TICK_S = 1.0
FIRST_DELAY_S, LONGEST_DELAY_S = 0.25, 5.0
"""The time between attempts to reconnect grows from the first value to the second."""
DEFAULT_SIZE = (120, 40)
KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
KEYS = {
    **{f"\x1b{start}{end}": name for start in "[O" for end, name in (
        ("A", "up"), ("B", "down"), ("H", "home"), ("F", "end"), ("Z", "back tab"))},
    **{f"\x1b[{number}~": name for number, name in ((1, "home"), (4, "end"), (5, "page up"), (6, "page down"))},
    "\t": "tab", "\r": "enter", "\n": "enter", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace",
}  # fmt: skip
"""The names of the keys that terminals send as control characters and sequences."""


def show_once(client: ControlClient, out: TextIO | None = None) -> str:
    """Return the state as text. Raises ControlError."""
    width = shutil.get_terminal_size(DEFAULT_SIZE).columns
    view = View(read(client), width, None, unicode=can_draw(out or sys.stdout))
    return "\n".join(painted(line, color=False) for line in view.lines(elapsed_s()))


def can_draw(out: TextIO | None) -> bool:
    """Return whether stdout can encode the characters of the bars and keys."""
    try:
        "".join(("↑↓", *(part.drawn for part in PARTS))).encode(getattr(out, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_interactive(term: str | None) -> bool:
    """Return whether stdin and stdout are a terminal that can be redrawn. `term` is the value of TERM."""
    if find_spec("termios") is None or term in (None, "dumb"):  # Windows has no termios
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def run(client: ControlClient, *, color: bool = True) -> int:
    """Show the state until q is pressed or a signal arrives. Return the exit status.

    Raises ControlError if the API cannot be reached.
    """
    state = read(client)
    state.counts = None
    navigation = Navigation()
    with Terminal(color=color) as terminal:
        events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

        def tell(change: Callable[[], None]) -> None:
            events.put(change)
            terminal.wake()

        follower = threading.Thread(target=_follow, args=(client, state, tell), name="kafkalet-top", daemon=True)
        follower.start()
        drawn_s = 0.0
        while not terminal.is_stopping and not navigation.is_done:
            with contextlib.suppress(queue.Empty):
                while True:
                    events.get_nowait()()
            width, height = terminal.size()
            view = View(state, width, height, navigation, unicode=can_draw(sys.stdout))
            terminal.draw(view.lines(elapsed_s()))
            drawn_s = elapsed_s()
            keys = terminal.wait(TICK_S)
            while not keys and not terminal.is_stopping and (left_s := drawn_s + DRAW_S - elapsed_s()) > 0:
                keys = terminal.wait(left_s)
            for key in keys:
                navigation.press(key)
    return terminal.status


def _follow(client: ControlClient, state: State, tell: Callable[[Callable[[], None]], None]) -> None:
    """Read events forever, in a thread. `tell` receives functions that change the state."""
    delay_s = FIRST_DELAY_S
    while True:
        try:
            cluster = client.ask("GET", "/v1/cluster")
            tell(lambda cluster=cluster: _connected(state, cluster))  # type: ignore[misc]
            delay_s = FIRST_DELAY_S
            for kind, data in client.events():
                tell(lambda kind=kind, data=data: state.apply(kind, data, elapsed_s()))  # type: ignore[misc]
            problem = "the broker has closed the connection"
        except ControlError as error:
            problem = error.message
        tell(lambda problem=problem: setattr(state, "problem", problem))  # type: ignore[misc]
        threading.Event().wait(delay_s)
        delay_s = min(LONGEST_DELAY_S, delay_s * 2)


def _connected(state: State, cluster: Json) -> None:
    state.cluster = cluster
    state.connected(elapsed_s())


class Terminal:
    """The terminal while the view is shown: alternate screen, no cursor, and keys without Enter."""

    ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"

    def __init__(self, *, color: bool) -> None:
        self.is_stopping = False
        self.status = 0
        self._color = color
        self._wakes, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._handlers: dict[int, Any] = {}
        self._attributes: Any = None

    def __enter__(self) -> Self:
        for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGWINCH", "SIGTSTP"):
            number = getattr(signal, name)
            self._handlers[number] = signal.signal(number, self._signalled)
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _enter(self) -> None:
        import termios
        import tty

        self._attributes = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        self._write(self.ENTER)

    def _leave(self) -> None:
        import termios

        with contextlib.suppress(termios.error, OSError):  # the terminal may be gone
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._attributes)
        self._write(self.LEAVE)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTSTP:  # Ctrl-Z
            self._leave()
            os.kill(os.getpid(), signal.SIGSTOP)
            self._enter()
        elif number != signal.SIGWINCH:
            self.is_stopping = True
            self.status = 128 + number
        self.wake()

    def size(self) -> tuple[int, int]:
        """Return the columns and rows. COLUMNS and LINES are ignored, because they do not change with the size."""
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            columns, rows = 0, 0
        return columns or DEFAULT_SIZE[0], rows or DEFAULT_SIZE[1]

    def wake(self) -> None:
        """Make `wait` return. May be called from any thread and from signal handlers."""
        with contextlib.suppress(BlockingIOError, OSError):
            self._waker.send(b"x")

    def wait(self, timeout_s: float) -> list[str]:
        """Wait for keys, a signal or `wake`. Return the keys."""
        ready, _, _ = select.select([sys.stdin, self._wakes], [], [], timeout_s)
        if self._wakes in ready:
            self._wakes.recv(4096)
        if sys.stdin not in ready:
            return []
        data = os.read(sys.stdin.fileno(), 1024)
        if not data:  # the terminal is gone
            self.is_stopping = True
        return [KEYS.get(key, key) for key in KEY.findall(data.decode(errors="ignore"))]

    def draw(self, lines: Sequence[Line]) -> None:
        """Draw the lines of the screen.

        Each is erased first: after a line that is as wide as the terminal, many terminals would erase its last column.
        """
        self._write("\x1b[H" + "\n".join(f"\x1b[K{painted(line, color=self._color)}" for line in lines))

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:  # the terminal is gone
            self.is_stopping = True
