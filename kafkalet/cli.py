"""The command line: `kafkalet serve`, `exec`, `container`, `ctl`, `top`, `inspect` and the others in COMMANDS.

The commands are in kafkalet.commands; `kafkalet-spark` is a separate command, in the package kafkalet-spark.

Exit status: 0 after a normal stop, 1 if something outside kafkalet fails (for example, a port is taken or a file cannot
be loaded), 2 if the command line or a property is invalid. Each failure prints one line on stderr. `kafkalet exec`
returns the exit status of the command that it runs.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from kafkalet.commands.command_line import HELP_OPTION, Option, UsageError, hint, print_line, reported
from kafkalet.version import VERSION

COMMANDS = {
    "serve": "run brokers until a signal stops them",
    "exec": "run a command with brokers, and stop them when it ends",
    "container": "run brokers with the environment variables of the image apache/kafka",
    "ctl": "control running brokers: topics, records, groups, faults, the clock and more",
    "top": "show what running brokers do, live",
    "inspect": "show and check the files of a data directory",
    "export": "prepare a data directory for Apache Kafka",
    "conform": "compare a broker or a client with Apache Kafka",
    "help": "show the help of a command",
    "version": "show the version",
}
HELP_OPTIONS = ("-h", "--help")
VERSION_OPTIONS = ("-V", "--version")
GENERAL_OPTIONS = (
    HELP_OPTION,
    Option("--version", "", "show the version and exit", aliases=("-V",)),
)

HELP = """usage: kafkalet COMMAND [OPTION]...

A Kafka broker for tests.

{commands}

kafkalet COMMAND --help shows the options of a command.
"""
SERVE = """Runs brokers until SIGINT, SIGTERM or SIGHUP. When they are ready, it prints a line:

  kafkalet ready bootstrap=HOST:PORT[,HOST:PORT...]"""
EXEC = """Runs a command with brokers, and stops them when the command ends. Their addresses are in the environment
variable KAFKA_BOOTSTRAP_SERVERS. The exit status is that of the command. Two defaults differ from those in
parentheses: the port is free, and the log level is warning."""
CONTAINER = """Runs brokers in a container. Environment variables set properties as in the image apache/kafka:
KAFKA_NUM_PARTITIONS sets num.partitions. Without listeners in the environment, the broker listens on port 9092 of every
interface. A command instead of options replaces this process."""


def help_text(command: str = "") -> str:
    """Return the help of `serve`, `exec` or `container`, or the list of commands."""
    from kafkalet.commands.exec import EXEC_OPTIONS
    from kafkalet.commands.help import definitions, help_page
    from kafkalet.commands.serve import SERVE_OPTIONS

    title = "Options, with the defaults in parentheses:"
    if command == "serve":
        return help_page("kafkalet serve [OPTION]...", SERVE, (*SERVE_OPTIONS, *GENERAL_OPTIONS), title)
    if command == "exec":
        usage = "kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]..."
        return help_page(usage, EXEC, (*EXEC_OPTIONS, *GENERAL_OPTIONS), title)
    if command == "container":
        usage = "kafkalet container [OPTION]...\n       kafkalet container COMMAND [ARGUMENT]..."
        return help_page(usage, CONTAINER, (*SERVE_OPTIONS, *GENERAL_OPTIONS), title)
    return HELP.format(commands=definitions(COMMANDS.items(), 14))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parent_id = os.getppid()  # read first: the parent may end at any time
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    if command in ("ctl", "top", "inspect", "export"):
        return reported(lambda: _main_of(command)(rest))
    if command == "conform":
        return reported(lambda: _conform(rest))
    return reported(lambda: _run(command, rest, parent_id))


def _main_of(command: str, package: str = "kafkalet") -> Callable[..., int]:
    """Return the function of a command, whose module is imported when it is needed."""
    main: Callable[..., int] = import_module(f"{package}.commands.{command}").main
    return main


def _conform(rest: Sequence[str]) -> int:
    from importlib.util import find_spec

    if find_spec("kafkalet_conformance") is None:
        raise UsageError("the conformance kit is a package of its own: pip install 'kafkalet[conformance]'")
    return _main_of("conform", "kafkalet_conformance")(rest)


def _run(command: str, rest: Sequence[str], parent_id: int) -> int:
    ours = rest[: rest.index("--")] if command == "exec" and "--" in rest else rest
    if command in HELP_OPTIONS or (command in COMMANDS and any(name in ours for name in HELP_OPTIONS)):
        print_line(help_text(command).rstrip("\n"))
        return 0
    if command in ("version", *VERSION_OPTIONS) or (command in COMMANDS and any(o in ours for o in VERSION_OPTIONS)):
        print_line(f"kafkalet {VERSION}")
        return 0
    if command in ("serve", "container", "exec"):
        return _main_of(command)(rest, parent_id)
    if command == "pipeline":
        raise UsageError("the Spark pipeline is the command kafkalet-spark: pip install 'kafkalet[spark]'")
    if command.startswith("-"):
        raise UsageError(f"{command} must follow a command: kafkalet serve {command} ...")
    raise UsageError(f"unknown command {command}; {hint(command, list(COMMANDS))}")
