"""The command line: `kafkalet serve`, `exec`, `container`, `ctl`, `top`, `inspect` and the others in COMMANDS.

The commands are in kafkalet.commands; `kafkalet-spark` is a command of its own, in the package kafkalet-spark.

Exit status: 0 after a normal stop, 1 if something outside kafkalet fails (for example, a port is taken or a file cannot
be loaded), 2 if the command line or a property is invalid. Each failure prints one line on stderr. `kafkalet exec`
returns the exit status of the command that it runs.
"""

import os
import sys
from collections.abc import Sequence

from kafkalet.commands.command_line import UsageError, hint, print_line, reported
from kafkalet.version import VERSION

HELP = """usage: kafkalet serve [OPTION]...
       kafkalet exec [OPTION]... -- COMMAND [ARGUMENT]...
       kafkalet container [OPTION]...
       kafkalet ctl COMMAND [ARGUMENT]... [OPTION]...
       kafkalet top [OPTION]...
       kafkalet inspect [OPTION]... DIR|FILE...
       kafkalet export --data-dir DIR [OPTION]...
       kafkalet conform --bootstrap HOST:PORT [OPTION]...

A Kafka broker that fits inside a test. `kafkalet exec` runs a command with a broker, whose address
is in KAFKA_BOOTSTRAP_SERVERS. `kafkalet container` is `serve` with the environment variables of the
image apache/kafka, for containers. `kafkalet ctl` controls a running broker, `kafkalet top` shows
it; see kafkalet ctl --help and kafkalet top --help. `kafkalet inspect` shows and checks the files
of a data directory, and `kafkalet export` prepares it for Apache Kafka; see kafkalet inspect --help
and kafkalet export --help. `kafkalet conform` compares any broker with Apache Kafka; see kafkalet
conform --help.
Options of serve and exec, with the defaults of serve in parentheses:

{options}
  -h, --help         show this help and exit
  -V, --version      show the version and exit
"""
COMMANDS = ("serve", "exec", "container", "ctl", "top", "inspect", "export", "conform", "help", "version")
HELP_OPTIONS = ("-h", "--help")
VERSION_OPTIONS = ("-V", "--version")

MOST_CHARS = 100
"""Width of the help."""
OPTION_CHARS = 21
"""Width of the column with the options."""


def help_text() -> str:
    from textwrap import wrap

    from kafkalet.commands.exec import ENV
    from kafkalet.commands.serve import SERVE_OPTIONS

    lines = []
    for option in (*SERVE_OPTIONS, ENV):
        left = f"  {option.name} {option.value}".rstrip()
        first, *rest = wrap(option.help, MOST_CHARS - OPTION_CHARS)
        lines.append(
            f"{left}\n{'':{OPTION_CHARS}}{first}" if len(left) > OPTION_CHARS - 2 else f"{left:{OPTION_CHARS}}{first}"
        )
        lines += [f"{'':{OPTION_CHARS}}{line}" for line in rest]
    return HELP.format(options="\n".join(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parent_id = os.getppid()  # read first: the parent may end at any time
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    if command == "ctl":
        from kafkalet.commands.ctl import main as ctl

        return ctl(rest)
    if command == "top":
        from kafkalet.commands.top import main as top

        return reported(lambda: top(rest))
    if command == "inspect":
        from kafkalet.commands.inspect import main as inspect

        return reported(lambda: inspect(rest))
    if command == "export":
        from kafkalet.commands.export import main as export

        return reported(lambda: export(rest))
    if command == "conform":
        return reported(lambda: _conform(rest))
    return reported(lambda: _run(command, rest, parent_id))


def _conform(rest: Sequence[str]) -> int:
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("kafkalet_conformance") is None:
        raise UsageError("the conformance kit is a package of its own: pip install 'kafkalet[conformance]'")
    status: int = import_module("kafkalet_conformance.commands.conform").main(rest)
    return status


def _run(command: str, rest: Sequence[str], parent_id: int) -> int:
    ours = rest[: rest.index("--")] if command == "exec" and "--" in rest else rest
    if command in HELP_OPTIONS or (command in COMMANDS and any(name in ours for name in HELP_OPTIONS)):
        print_line(help_text().rstrip("\n"))
        return 0
    if command in ("version", *VERSION_OPTIONS) or (command in COMMANDS and any(o in ours for o in VERSION_OPTIONS)):
        print_line(f"kafkalet {VERSION}")
        return 0
    if command == "serve":
        from kafkalet.commands.serve import main as serve

        return serve(rest, parent_id)
    if command == "container":
        from kafkalet.commands.container import main as container

        return container(rest, parent_id)
    if command == "exec":
        from kafkalet.commands.exec import main as execute

        return execute(rest, parent_id)
    if command == "pipeline":
        raise UsageError("the Spark pipeline is the command kafkalet-spark: pip install 'kafkalet[spark]'")
    if command.startswith("-"):
        raise UsageError(f"{command} must follow a command: kafkalet serve {command} ...")
    raise UsageError(f"unknown command {command}; {hint(command, COMMANDS)}")
