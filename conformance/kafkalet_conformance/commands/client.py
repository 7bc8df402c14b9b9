"""`kafkalet conform client`: runs a client against brokers that cause errors, and judges what it does."""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkalet.commands.command_line import Failure, Option, UsageError, hint, parse, print_error, print_line

from .output import check_files, output_of, print_lines, write_file

if TYPE_CHECKING:
    from kafkalet_conformance.clients.results import ClientResult, ClientRun
    from kafkalet_conformance.clients.scenario import Scenario

NOT_POSSIBLE = 2
"""The exit status if no scenario could be run."""
OPTIONS = (
    Option("--only", "NAME,...", "run only these scenarios; a name may contain *", repeatable=True),
    Option("--list", "", "list the scenarios, with what a correct client does, and exit"),
    Option("--jobs", "N", "run N scenarios in parallel (default 2)"),
    Option("--client-timeout", "SECONDS", "the time limit for CMD in each scenario (default 30)"),
    Option("--kafka-version", "RELEASE", "the release that the brokers emulate (default 4.4)"),
    Option("--json", "FILE", "write the results as JSON"),
    Option("--junit", "FILE", "write the results as JUnit XML"),
    Option("--html", "FILE", "write the results as an HTML page"),
    Option("--help", "", "print this help and exit", aliases=("-h",)),
)
HELP = """\
usage: kafkalet conform client [OPTION]... -- CMD [ARG]...

Start CMD, a small program around a Kafka client, once for each scenario. Provoke the client with
leader changes, errors and lost responses, and judge what it does. Environment variables tell CMD
what to do, and CMD prints the results (docs/conform-clients.md).

Options:
{options}

Exit status: 0 if the client was right in every scenario that ran, 1 if it was not, 2 if no
scenario could run.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command with the arguments after `conform client`. Return the exit status.

    Raises UsageError for invalid arguments.
    """
    split = arguments.index("--") if "--" in arguments else len(arguments)
    given = parse(arguments[:split], OPTIONS)
    command = list(arguments[split + 1 :])
    if "help" in given:
        from kafkalet.commands.help import filled, option_lines

        print_line(filled(HELP.format(options=option_lines(OPTIONS))).rstrip())
        return 0
    chosen = _chosen(given.get("only", ()))
    if "list" in given:
        from kafkalet_conformance.clients.reports import listed

        _print(listed(chosen))
        return 0
    if not command:
        raise UsageError("no command to judge; give it after --, as in `kafkalet conform client -- python3 driver.py`")
    if shutil.which(command[0]) is None:
        return print_error(Failure(f"{command[0]}: not found, or not executable"), NOT_POSSIBLE)
    check_files(given)
    return _run(given, command, chosen)


def _chosen(patterns: Sequence[str]) -> list[Scenario]:
    from fnmatch import fnmatchcase

    from kafkalet_conformance.clients.scenarios import all_scenarios

    every = all_scenarios()
    names = [name.strip() for text in patterns for name in text.split(",") if name.strip()]
    if patterns and not names:
        raise UsageError("--only needs the name of a scenario; kafkalet conform client --list shows them")
    for name in names:
        if not any(fnmatchcase(known, name) for known in every):
            raise UsageError(f"--only {name}: there is no such scenario; {hint(name, list(every))}")
    return [
        scenario for known, scenario in every.items() if not names or any(fnmatchcase(known, name) for name in names)
    ]


def _run(given: dict[str, list[str]], command: list[str], chosen: list[Scenario]) -> int:
    from kafkalet.protocol.releases import RELEASES
    from kafkalet_conformance.clients.reports import details, line, not_run, summary
    from kafkalet_conformance.clients.runner import JOBS, KAFKA_VERSION, TIMEOUT_S, NotStarted, Options, Runner

    version = _one(given, "kafka-version", KAFKA_VERSION)
    if version not in RELEASES:
        raise UsageError(f"--kafka-version {version}: the releases are {', '.join(RELEASES)}")
    timeout_s = _number(given, "client-timeout", TIMEOUT_S)
    jobs = int(_number(given, "jobs", JOBS))
    runner = Runner(Options(command, os.environ, timeout_s, jobs, version))
    width = max(len(scenario.name) for scenario in chosen)

    def done(result: ClientResult) -> None:
        print_lines([line(result, width)], output_of(given))

    logging.getLogger("kafkalet").addHandler(logging.NullHandler())  # the brokers log connections that they close
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        run = runner.run(chosen, done)
    except NotStarted as error:
        return print_error(Failure(str(error)), NOT_POSSIBLE)
    except KeyboardInterrupt:
        return print_error(Failure("interrupted; the clients were stopped"), 130)
    finally:
        signal.signal(signal.SIGTERM, previous)
    for lines in (details, not_run, summary):
        print_lines(lines(run), output_of(given))
    _write(given, run)
    return run.exit_status


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _one(given: dict[str, list[str]], name: str, default: str) -> str:
    return given.get(name, [default])[0]


def _number(given: dict[str, list[str]], name: str, default: float) -> float:
    text = _one(given, name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value <= 3600:
        raise UsageError(f"--{name} {text}: expected a number from 1 to 3600")
    return value


def _print(lines: Iterable[str]) -> None:
    for text in lines:
        print_line(text)


def _write(given: dict[str, list[str]], run: ClientRun) -> None:
    from kafkalet_conformance.clients.reports import as_html, as_json, as_junit

    for name, convert in (("json", as_json), ("junit", as_junit), ("html", as_html)):
        if name in given:
            write_file(f"--{name}", given[name][0], convert(run))
