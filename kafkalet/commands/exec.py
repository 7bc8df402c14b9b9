"""`kafkalet exec -- COMMAND`: a broker that runs while a command runs.

    kafkalet exec ──fork──> broker      in its own session, so that Ctrl-C does not reach it
                  ──fork──> COMMAND     with the standard streams, the terminal and the process group of kafkalet

kafkalet itself only waits: for the broker to be ready, for a signal, and for one of the two to end.

* COMMAND ends: kafkalet stops the broker, waits for it, and returns the exit status of COMMAND.
* kafkalet receives SIGINT, SIGTERM or SIGHUP: it forwards the signal, and COMMAND decides whether to exit. Before
  COMMAND has started, the signal stops the broker.
* The broker process ends unexpectedly: kafkalet removes its temporary files, terminates COMMAND and returns 1.
* kafkalet is killed: the pipe that the broker reads reaches end of file. The broker kills COMMAND and stops.

The broker process is forked before any thread exists. It does not start the interpreter a second time, and it runs the
same code however kafkalet was installed. Through one pipe, it sends the path of its temporary directory and reports
that it is ready; through the other pipe, kafkalet sends the process id of COMMAND.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from queue import Empty, SimpleQueue
from typing import NamedTuple, NoReturn

from .command_line import Failure, Option, UsageError, keep_standard_descriptors, parse, print_error, reported
from .parent import PERIOD_S, is_gone
from .ready_file import remove_of
from .serve import CA, SERVE_OPTIONS, Serve, Starter, serve

ENV = Option("--env", "NAME", "another environment variable to set to the address; repeatable", True)
EXEC_OPTIONS = (*SERVE_OPTIONS, ENV)
FREE_PORT = ("127.0.0.1", 0)
VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"
CA_VARIABLE = "KAFKA_SSL_CA_LOCATION"
"""The environment variable with the file of the certificate that clients have to trust (--tls)."""

# What a shell returns for a command that cannot be run.
NOT_EXECUTABLE, NOT_FOUND = 126, 127
# Seconds between SIGTERM and SIGKILL for the command after the parent of kafkalet has ended.
GRACE_S = 10.0


class Exec(NamedTuple):
    """The options of `exec`, and the command."""

    serve: Serve
    variables: list[str]
    command: list[str]

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Exec":
        arguments = list(arguments)
        end = arguments.index("--") if "--" in arguments else len(arguments)
        command = arguments[end + 1 :]
        if not command:
            raise UsageError("exec needs a command after --: kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]...")
        given = parse(arguments[:end], EXEC_OPTIONS, "exec")
        variables = given.pop("env", [])
        for name in variables:
            if not name or "=" in name:
                raise UsageError(
                    f"--env {name}: expected the name of an environment variable; its value is the address"
                )
        return cls(Serve.of(given, FREE_PORT, "warning"), [VARIABLE, *variables], command)


def main(arguments: Sequence[str], parent_id: int) -> int:
    """Run `kafkalet exec` and return its exit status. `parent_id` is the process that started kafkalet."""
    options = Exec.of(arguments)
    if os.name == "nt":
        raise Failure("exec needs fork(), which Windows does not have; use kafkalet serve")
    keep_standard_descriptors()
    events: SimpleQueue[_Event] = SimpleQueue()
    numbers = _catch_signals()
    broker = _Broker(options.serve, events)
    _queue_signals(numbers, events)
    try:
        return _Supervisor(options, parent_id, broker, events).run()
    finally:
        broker.stop()


class _Kind(Enum):
    SIGNAL = "kafkalet received a signal"
    READY = "the broker is ready"
    BROKER_ENDED = "the broker process ended"
    COMMAND_ENDED = "the command ended"


class _Event(NamedTuple):
    kind: _Kind
    value: int = 0
    """The signal number, or the exit status as in `Popen.returncode`."""


def _catch_signals() -> int:
    """Return a descriptor from which the numbers of signals can be read, one byte each.

    An ignored signal stays ignored, here and in the command (nohup, `&` in sh).

    A handler in Python runs only once the main thread runs Python code again. If a signal arrives just before the main
    thread starts to wait, the handler would not run until something else happens. The number of the signal is written
    to the wake-up descriptor immediately.
    """
    numbers, wake_up = os.pipe()
    os.set_blocking(wake_up, False)
    signal.set_wakeup_fd(wake_up)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    return numbers


def _queue_signals(numbers: int, events: SimpleQueue[_Event]) -> None:
    def watch() -> None:
        while True:
            for number in os.read(numbers, 64):
                events.put(_Event(_Kind.SIGNAL, number))

    threading.Thread(target=watch, name="kafkalet-exec-signals", daemon=True).start()


class _Broker:
    """The process of the broker, as kafkalet sees it."""

    def __init__(self, options: Serve, events: SimpleQueue[_Event]) -> None:
        self.bootstrap_servers = ""
        self.control_url = ""
        self.listeners: dict[str, str] = {}
        self._temporary_directory = ""
        self._ready_file = options.ready_file
        self._events = events
        told, self._tell = os.pipe()
        messages, answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._tell)
            os.close(messages)
            _run_broker(options, told, answer)
        os.close(told)
        os.close(answer)
        self._watcher = threading.Thread(target=self._watch, args=(messages,), name="kafkalet-exec-broker", daemon=True)
        self._watcher.start()

    def _watch(self, messages: int) -> None:
        """Queue the events of the broker. Runs in its own thread."""
        with open(messages, encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                name, _, value = line.rstrip("\n").partition("=")
                if name == "directory":
                    self._temporary_directory = value
                elif name == "control":
                    self.control_url = value
                elif name == "listener":
                    listener, _, address = value.partition("=")
                    self.listeners[listener] = address
                else:
                    self.bootstrap_servers = value
                    self._events.put(_Event(_Kind.READY))
        _, status = os.waitpid(self._pid, 0)
        self._events.put(_Event(_Kind.BROKER_ENDED, os.waitstatus_to_exitcode(status)))

    def tell_command(self, pid: int) -> None:
        """Send the id of the process that the broker kills if kafkalet is killed; 0 for none."""
        with contextlib.suppress(OSError):  # the broker has ended
            os.write(self._tell, b"%d\n" % pid)

    def stop(self) -> None:
        """Stop the broker if it is running, and wait for it to end. If it was killed, remove its temporary files."""
        if self._watcher.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)
        os.close(self._tell)
        self._watcher.join()
        if self._temporary_directory:
            shutil.rmtree(self._temporary_directory, ignore_errors=True)
        if self._ready_file is not None:
            remove_of(self._ready_file, self._pid)


class _Supervisor:
    """Runs the command while the broker runs."""

    def __init__(self, options: Exec, parent_id: int, broker: _Broker, events: SimpleQueue[_Event]) -> None:
        self._options = options
        self._parent_id = parent_id
        self._broker = broker
        self._events = events

    def run(self) -> int:
        event = self._next()
        if event.kind is _Kind.SIGNAL:
            return 128 + event.value
        if event.kind is _Kind.BROKER_ENDED:
            if event.value > 0:
                return event.value  # the broker has printed the reason
            raise Failure(f"the broker {_ended(event.value)} before it was ready")
        name = self._options.command[0]
        try:
            command = subprocess.Popen(  # noqa: S603 - the user's own command
                self._options.command,
                env=self._environment(),
                close_fds=False,  # the command gets the descriptors that kafkalet was started with
            )
        except FileNotFoundError as error:
            return print_error(Failure(f"{name}: {error.strerror}"), NOT_FOUND)
        except (OSError, ValueError) as error:  # ValueError: a null byte
            return print_error(Failure(f"{name}: {getattr(error, 'strerror', None) or error}"), NOT_EXECUTABLE)
        self._broker.tell_command(command.pid)
        threading.Thread(target=self._watch, args=(command,), name="kafkalet-exec-command", daemon=True).start()
        return self._supervise(command)

    def _environment(self) -> dict[str, str]:
        environment = os.environ | dict.fromkeys(self._options.variables, self._broker.bootstrap_servers)
        if (ca_file := self._broker.listeners.pop(CA, None)) is not None:
            environment[CA_VARIABLE] = ca_file
        for name, address in self._broker.listeners.items():
            environment[f"{VARIABLE}_{_word(name)}"] = address
        control = self._options.serve.control
        if control is not None:
            from .control import TOKEN_VARIABLE, URL_VARIABLE

            environment[URL_VARIABLE] = self._broker.control_url
            if control.token is not None:
                environment[TOKEN_VARIABLE] = control.token
        return environment

    def _watch(self, command: "subprocess.Popen[bytes]") -> None:
        """Queue the end of the command. Runs in its own thread."""
        status = command.wait()
        self._broker.tell_command(0)
        self._events.put(_Event(_Kind.COMMAND_ENDED, status))

    def _supervise(self, command: "subprocess.Popen[bytes]") -> int:
        broker_ended = False
        while True:
            event = self._next(lambda: _end(command))
            if event.kind is _Kind.COMMAND_ENDED:
                status = event.value if event.value >= 0 else 128 - event.value
                return 1 if broker_ended else status
            if event.kind is _Kind.BROKER_ENDED:
                broker_ended = True
                name = self._options.command[0]
                print_error(
                    Failure(f"the broker {_ended(event.value)} while {name} was running; terminating {name}"), 1
                )
                command.terminate()
            elif not _is_from_terminal(event.value):
                command.send_signal(event.value)

    def _next(self, orphaned: Callable[[], object] | None = None) -> _Event:
        """Return the next event.

        With --exit-with-parent, the end of the parent counts as SIGTERM, or calls `orphaned` once the command runs.
        """
        while self._options.serve.exit_with_parent:
            with contextlib.suppress(Empty):
                return self._events.get(timeout=PERIOD_S)
            if is_gone(self._parent_id):
                if orphaned is None:
                    return _Event(_Kind.SIGNAL, signal.SIGTERM)
                orphaned()
                break
        return self._events.get()


def _word(listener: str) -> str:
    """Return the name of a listener as part of the name of an environment variable."""
    return "".join(char if char.isalnum() else "_" for char in listener)


def _end(command: "subprocess.Popen[bytes]") -> None:
    """Terminate a command; kill it if it does not end in time."""
    command.terminate()
    timer = threading.Timer(GRACE_S, command.kill)
    timer.daemon = True
    timer.start()


def _ended(status: int) -> str:
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _is_from_terminal(number: int) -> bool:
    """Return whether the terminal has also sent this signal to the command.

    Ctrl-C sends SIGINT to every process in the foreground. The command would get it twice if kafkalet forwarded it,
    and many programs, such as pytest, abort their cleanup at the second SIGINT.
    """
    if number != signal.SIGINT:
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False  # no terminal controls this process
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


# The broker's process


def _run_broker(options: Serve, told: int, answer: int) -> NoReturn:
    """Run the broker in the forked process."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)  # until the broker handles them
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)  # stdout belongs to the command
        status = reported(lambda: serve(options, _ExecStarter(told, answer)))
    except BaseException:  # noqa: BLE001 - the process must not return into the code of the other process
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, AttributeError):
            sys.stderr.flush()
        os._exit(status)


class _ExecStarter(Starter):
    """`kafkalet exec` as the process that started the broker."""

    def __init__(self, told: int, answer: int) -> None:
        super().__init__(os.getppid())
        self._told = told
        self._answer = answer

    def watch(self, options: Serve, stop: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        received = b""

        def read() -> None:
            nonlocal received
            data = os.read(self._told, 4096)
            if data:
                received += data
                return
            loop.remove_reader(self._told)
            pid = int(received.split(b"\n")[-2]) if b"\n" in received else 0
            if pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            stop()

        loop.add_reader(self._told, read)

    def started(self, temporary_directory: str | None) -> None:
        if temporary_directory is not None:
            self._say(f"directory={temporary_directory}")

    def ready(self, bootstrap_servers: str, listeners: Mapping[str, str], control_url: str | None) -> None:
        for name, address in listeners.items():
            self._say(f"listener={name}={address}")
        if control_url is not None:
            self._say(f"control={control_url}")
        self._say(f"bootstrap={bootstrap_servers}")

    def _say(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # kafkalet has ended; `watch` notices it as well
            os.write(self._answer, f"{text}\n".encode(errors="surrogateescape"))
