"""`kafkalet conform`: compares a broker with the recorded responses of Apache Kafka."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalet.commands.command_line import Failure, Option, UsageError, parse, parse_address, print_error
from kafkalet.units import counted

from .output import check_files, output_of, print_lines, read_report, style_of, width, write_file
from .security import OPTIONS as SECURITY_OPTIONS
from .security import security_of

if TYPE_CHECKING:
    from kafkalet.client_security import Security
    from kafkalet_conformance.catalog import Level, Scenario
    from kafkalet_conformance.judging.judge import Options
    from kafkalet_conformance.results import Run, ScenarioResult

NOT_POSSIBLE = 2
"""The exit status if the broker could not be judged."""
INTERRUPTED = 130
TARGET = (
    Option("--bootstrap", "HOST:PORT,...", "the address of at least one broker of the cluster"),
    *SECURITY_OPTIONS,
)
SELECTION = (
    Option("--against", "RELEASE", "the Kafka release to compare with (default nearest: the most similar one)"),
    Option("--only", "NAME,...", "run only these areas and scenarios", repeatable=True),
    Option("--api", "NAME,...", "run only scenarios that use one of these APIs", repeatable=True),
    Option("--kip", "KIP-N,...", "run only scenarios with one of these KIPs as source", repeatable=True),
    Option("--level", "LEVEL,...", "run only scenarios of these levels: must, should, detail", repeatable=True),
    Option("--scenario", "FILE", "run the scenario in a file that --between wrote"),
    Option("--list", "", "print the selected scenarios with their claims, and exit"),
)
RUN = (
    Option("--jobs", "N", "run N scenarios in parallel (default 8)"),
    Option("--repeat", "N", "repeat a scenario that differs N times (default 2)"),
    Option("--timeout", "SECONDS", "end the run after this time (default: depends on the number of scenarios)"),
    Option("--disposable", "", "also run scenarios that change the configuration of the whole cluster"),
    Option("--acl", "", "run the scenarios for a broker with SASL/PLAIN, an authorizer, and the users admin and user"),
    Option(
        "--control",
        "COMMAND",
        "run only the scenarios in which brokers stop, crash, pause and are cut off; HOST:PORT, stop, kill, start, "
        "pause, resume, cut-off or reconnect, the id of the broker, and for cut-off, from what, are appended to the "
        "command",
    ),
)
OUTPUT = (
    Option("--verbose", "", "print whole responses, and every response that differs"),
    Option("--bytes", "", "print the bytes of requests, and of responses that differ"),
    Option("--json", "FILE", "write all results as JSON"),
    Option("--junit", "FILE", "write the results as JUnit XML"),
    Option("--html", "FILE", "write the results as one HTML page"),
    Option("--baseline", "FILE", "fail only on regressions from this JSON report of an earlier run"),
    Option("--help", "", "print this help and exit", aliases=("-h",)),
)
GROUPS = {"Target": TARGET, "Scenarios": SELECTION, "Run": RUN, "Output": OUTPUT}
OPTIONS = tuple(option for group in GROUPS.values() for option in group)
HELP = """\
usage: kafkalet conform --bootstrap HOST:PORT [OPTION]...
       kafkalet conform diff EARLIER.json LATER.json [OPTION]...
       kafkalet conform --between HOST:PORT HOST:PORT [OPTION]...
       kafkalet conform client [OPTION]... -- CMD [ARG]...

Compare the responses of a broker with the recorded responses of Apache Kafka.
{options}

--only, --api, --kip and --level take comma-separated lists and can be repeated. --json, --junit
and --html can be combined. If the FILE of a report is -, the report is written to standard output,
and the tables to standard error.

Exit status:
{statuses}
"""
STATUSES = (
    ("0", "everything that ran is as Kafka; with --baseline: everything that was as Kafka still is"),
    ("1", "something differs, is unstable or failed; with --baseline: something that was as Kafka no longer is"),
    (
        str(NOT_POSSIBLE),
        "the run was not possible: the broker does not respond, no scenario is selected or could run, or an option or "
        "file is invalid",
    ),
    (str(INTERRUPTED), "the run was interrupted; the reports have the results up to that point"),
)


def main(arguments: Sequence[str]) -> int:
    """Run the command with the arguments after `conform`. Return the exit status.

    Raises UsageError for invalid arguments.
    """
    try:
        with terminated_as_interrupt():
            return _run(arguments)
    except KeyboardInterrupt:
        return print_error(Failure("interrupted"), INTERRUPTED)
    except Failure as error:
        return print_error(error, NOT_POSSIBLE)


def _run(arguments: Sequence[str]) -> int:
    if (command := _subcommand(arguments[:1])) is not None:
        return command(arguments[1:])
    given = parse(arguments, OPTIONS)
    if "help" in given:
        print_lines(help_text().splitlines(), sys.stdout)
        return 0
    from kafkalet_conformance.reports.terminal import listed

    selected = selection(given)
    if "list" in given:
        scenarios = selected()
        print_lines(listed(scenarios, style_of(given, sys.stdout)), sys.stdout)
        return 0 if scenarios else nothing_selected()
    security, bootstrap = security_of(given)
    if "acl" in given and security.credentials:
        raise UsageError("--acl authenticates as admin and as user with SASL/PLAIN; leave out the options of SASL")
    if bootstrap:
        given.setdefault("bootstrap", [bootstrap])
    if "bootstrap" not in given:
        raise UsageError("conform needs the address of a broker: kafkalet conform --bootstrap HOST:PORT")
    check_files(given)
    return _judge(given, selected, security)


def _subcommand(names: Sequence[str]) -> Callable[[Sequence[str]], int] | None:
    match names:
        case ["client"]:
            from .client import main as command
        case ["diff"]:
            from .diff import main as command
        case ["--between"]:
            from .between import main as command
        case _:
            return None
    return command


def help_text() -> str:
    """Return the help of `kafkalet conform`, with the options in groups."""
    from kafkalet.commands.help import definitions, filled, option_lines

    column = len("  --bootstrap HOST:PORT,...  ")
    lines = []
    for title, options in GROUPS.items():
        lines += ["", f"{title}:", option_lines(options, column)]
    return filled(HELP.format(options="\n".join(lines), statuses=definitions(STATUSES, 7))).rstrip("\n")


# The selection


def selection(given: dict[str, list[str]]) -> Callable[[], list[Scenario]]:
    """Check the options that select scenarios; return a function that selects them for listing.

    The options are replaced by the names in the catalog. Raises UsageError for unknown names.
    """
    from kafkalet_conformance.catalog import LEVELS, scenarios, select
    from kafkalet_conformance.judging.judge import NEAREST
    from kafkalet_conformance.judging.nearest import recorded_releases

    every = scenarios().values()
    known: dict[str, set[str]] = {
        "only": {name for each in every for name in (each.area, each.name)},
        "api": {api for each in every for api in each.apis},
        "kip": {kip for each in every for kip in each.kips},
        "level": set(LEVELS),
    }
    for option, names in known.items():
        if option in given:
            given[option] = [_known(f"--{option}", name, names) for name in split_names(option, given[option])]
    releases = recorded_releases()
    against = given.setdefault("against", [NEAREST])[0]
    if against not in (NEAREST, *releases):
        raise UsageError(f"--against {against}: recorded releases are {', '.join(releases)}; {NEAREST} chooses one")
    wanted = options_of(given, "")
    release = releases[-1] if against == NEAREST else against
    return lambda: select(release=release, only=wanted.only, apis=wanted.apis, kips=wanted.kips, levels=wanted.levels)


def split_names(option: str, texts: Sequence[str]) -> list[str]:
    """Return the names in comma-separated lists. Raises UsageError if there are none."""
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not names:  # an empty list of names would select everything
        raise UsageError(f"--{option} {texts[0]}: expected one name, or several with commas between them")
    return names


def _known(option: str, name: str, names: Iterable[str]) -> str:
    """Return the name in the catalog: `list_offsets` and `listoffsets` are ListOffsets, `101` is KIP-101."""
    by_word = {_word(each): each for each in names}
    if (found := by_word.get(_word(name))) or (found := by_word.get(f"kip{_word(name)}")):
        return found
    from difflib import get_close_matches

    close = [by_word[word] for word in get_close_matches(_word(name), by_word, 3)]
    hint = f"did you mean {' or '.join(close)}?" if close else "kafkalet conform --list shows all of them"
    raise UsageError(f"{option} {name}: there is no such {_THINGS[option]}; {hint}")


_THINGS = {
    "--only": "area or scenario",
    "--api": "API with recorded responses",
    "--kip": "KIP among the sources of the scenarios",
    "--level": "level",
}


def _word(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def options_of(given: dict[str, list[str]], bootstrap: str) -> Options:
    """Return the options of the judge. Raises UsageError for numbers out of range."""
    from kafkalet_conformance.catalog import LEVELS
    from kafkalet_conformance.judging.judge import JOBS, REPEAT, Options

    levels: Sequence[Level] = [level for level in LEVELS if level in given.get("level", LEVELS)]
    return Options(
        bootstrap,
        against=given["against"][0],
        only=tuple(given.get("only", ())),
        apis=tuple(given.get("api", ())),
        kips=tuple(given.get("kip", ())),
        levels=tuple(levels),
        jobs=1 if "control" in given else int(_number(given, "jobs", JOBS, least=1)),
        repeat=int(_number(given, "repeat", REPEAT, least=0)),
        timeout_s=_number(given, "timeout", 0, least=1) if "timeout" in given else None,
        disposable="disposable" in given,
        acl="acl" in given,
        control=tuple(shlex.split(given["control"][0])) if "control" in given else (),
        file=Path(given["scenario"][0]) if "scenario" in given else None,
    )


def _number(given: dict[str, list[str]], name: str, default: float, least: int) -> float:
    text = given.get(name, [str(default)])[0]
    try:
        number = float(text)
    except ValueError:
        number = least - 1
    if not least <= number < 1e9 or (number % 1 and name != "timeout"):
        raise UsageError(f"--{name} {text}: expected a number from {least}")
    return number


def nothing_selected() -> int:
    """Report that the options select no scenario, and return the exit status."""
    return print_error(Failure("no scenario matches all the given options"), NOT_POSSIBLE)


# The run


def _judge(given: dict[str, list[str]], selected: Callable[[], list[Scenario]], security: Security) -> int:
    from kafkalet_conformance.judging.judge import NEAREST, Announcement, CannotJudge, judge
    from kafkalet_conformance.reports.terminal import Progress

    bootstrap, against = given["bootstrap"][0], given["against"][0]
    for address in bootstrap.split(","):
        parse_address("--bootstrap", address, least_port=1)
    baseline = read_report("--baseline", given["baseline"][0]) if "baseline" in given else None
    if against != NEAREST and "scenario" not in given and not selected():
        return nothing_selected()
    results: list[ScenarioResult] = []
    begun = not_begun(bootstrap, against)
    progress = Progress(sys.stderr, width()) if sys.stderr is not None and sys.stderr.isatty() else None

    def announce(announcement: Announcement) -> None:
        nonlocal begun
        begun = announcement.run
        if progress is not None:
            progress.total = announcement.scenarios
        text = (
            f"{counted(announcement.scenarios, 'scenario')} against Apache Kafka {begun.against}; the run ends within "
        )
        print_lines([f"{text}{announcement.limit_s:.0f} s", ""], output_of(given))

    def done(result: ScenarioResult) -> None:
        results.append(result)
        if progress is not None:
            progress.show(result)

    interrupted = False
    with terminated_as_interrupt():
        try:
            run = judge(replace(options_of(given, bootstrap), security=security), done, announce)
        except CannotJudge as error:
            return print_error(error, NOT_POSSIBLE)
        except KeyboardInterrupt:
            interrupted = True
            run = interrupted_run(begun, results)
        finally:
            if progress is not None:
                progress.clear()
    if not run.results and not interrupted:
        return nothing_selected()
    status = show(run, baseline, given)
    write_reports(run, given)
    if interrupted:
        return print_error(Failure(f"interrupted after {counted(len(results), 'scenario')}"), INTERRUPTED)
    return status


@contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, so that the run ends as after Ctrl-C and its results are reported."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def not_begun(bootstrap: str, against: str) -> Run:
    """Return a run before it begins: it has only options."""
    from kafkalet.version import VERSION
    from kafkalet_conformance.results import Run

    return Run(
        bootstrap=bootstrap,
        against=against,
        kafkalet_version=VERSION,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        duration_s=0,
        brokers=0,
    )


def interrupted_run(begun: Run, results: Sequence[ScenarioResult]) -> Run:
    """Return a run that was interrupted after these results."""
    return replace(
        begun,
        duration_s=(datetime.now(UTC) - datetime.fromisoformat(begun.started)).total_seconds(),
        options={**begun.options, "interrupted": "yes"},
        results=tuple(results),
    )


def show(run: Run, baseline: Run | None, given: dict[str, list[str]]) -> int:
    """Print the results and return the exit status."""
    from kafkalet_conformance.reports.comparison import compare
    from kafkalet_conformance.reports.summary import was_possible
    from kafkalet_conformance.reports.terminal import compared, report
    from kafkalet_conformance.results import BAD

    stream = output_of(given)
    style = style_of(given, stream)
    print_lines(report(run, style), stream)
    possible = was_possible(run)
    if baseline is not None:
        comparison = compare(baseline, run)
        print_lines(["", "compared with the baseline:", *compared(comparison, style)], stream)
        return comparison.exit_status if possible else NOT_POSSIBLE
    if not possible:
        return NOT_POSSIBLE
    return int(any(result.outcome in BAD for result in run.results))


def write_reports(run: Run, given: dict[str, list[str]]) -> None:
    """Write the reports that the options name."""
    from kafkalet_conformance.reports import html_report, json_report, junit_report

    for name, dumps in (("json", json_report.dumps), ("junit", junit_report.dumps), ("html", html_report.dumps)):
        if name in given:
            write_file(f"--{name}", given[name][0], dumps(run))
