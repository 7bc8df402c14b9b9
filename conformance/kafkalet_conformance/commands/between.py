"""`kafkalet conform --between A B`: compares two live brokers with random histories of requests."""

import json
import math
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkalet.commands.command_line import Failure, Option, UsageError, parse, parse_address, print_error, print_line
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.units import counted
from kafkalet_conformance.between.comparing import (
    Comparer,
    Comparison,
    Disagreement,
    NotWritten,
    Unreachable,
    lacks,
    reached,
)
from kafkalet_conformance.between.histories import GROUPS
from kafkalet_conformance.between.pair import Versions
from kafkalet_conformance.between.progress import progress_on
from kafkalet_conformance.between.restarting import restart
from kafkalet_conformance.judging.nearest import nearest
from kafkalet_conformance.playing.control import Control
from kafkalet_conformance.playing.target import Target

HELP = """usage: kafkalet conform --between HOST:PORT HOST:PORT [OPTION]...

Send the same random requests to two brokers, or to two clusters with the same ids. If two responses
differ, remove the requests that the difference does not need, and write the rest to a file, with the
responses of the first broker. At the end, print which APIs, versions, errors and states were reached.

{options}

Groups: {groups}

The topics and groups of the histories are removed at the end.

Exit status: 0 if all responses were the same, 1 if not, 2 if none could be compared, or if a
broker could not be reached any more.
"""
OPTIONS = (
    Option("--seed", "N", "the seed of the random histories; the same seed makes the same histories (default 1)"),
    Option("--histories", "N", "the number of histories of each group (default 20)"),
    Option("--first", "N", "the number of the first history (default 0)"),
    Option("--groups", "NAME,...", "perform only these groups of histories (default: all that the brokers support)"),
    Option("--acl", "", "the brokers have SASL/PLAIN and an authorizer; perform histories of a user's rights"),
    Option("--restart", "COMMAND", "a command that restarts the broker whose HOST:PORT is appended to it"),
    Option(
        "--control",
        "COMMAND",
        "a command that does something to a broker; HOST:PORT, stop, kill, start, pause, resume, cut-off or "
        "reconnect, the id of the broker, and for cut-off, from what, are appended to it",
    ),
    Option("--minutes", "N", "stop after N minutes, such as 0.5 (default 10)"),
    Option("--out", "DIR", "the directory for the histories with differences (default differences)"),
    Option("--release", "RELEASE", "the Kafka release that both brokers emulate (default: the most similar one)"),
    Option("--help", "", "print this help and exit", aliases=("-h",)),
)
NOT_POSSIBLE = 2
STEPS_SHOWN, FIELDS_SHOWN, CHARACTERS_SHOWN = 40, 6, 700


def main(arguments: Sequence[str]) -> int:
    """Compare two brokers; return 0 if all responses were the same, 1 if not, 2 if none was compared."""
    if {"-h", "--help"} & set(arguments):
        from kafkalet.commands.help import filled, option_lines

        print_line(filled(HELP.format(options=option_lines(OPTIONS), groups=", ".join(GROUPS))).rstrip())
        return 0
    addresses, rest = arguments[:2], arguments[2:]
    if len(addresses) < 2 or any(address.startswith("-") for address in addresses):
        raise UsageError("--between needs the addresses of two brokers: --between HOST:PORT HOST:PORT")
    given = parse(rest, OPTIONS)
    if "groups" in given:
        check_groups(given["groups"][0].split(","))
    seed, histories, start = (
        number_of(given, "seed", 1),
        number_of(given, "histories", 20),
        number_of(given, "first", 0),
    )
    minutes = minutes_of(given)
    release, out = given.get("release", [""])[0], directory_of(given)
    if release and release not in (releases := [each for each in RELEASES if each != NEWEST]):
        raise UsageError(f"--release {release}: the releases are {', '.join(releases)}")
    for address in addresses:
        parse_address("--between", address, least_port=1)
    try:
        first, second = (target_of(address, given) for address in addresses)
        groups = groups_of(given, first, second)
        with progress_on(sys.stderr) as progress:
            comparer = Comparer(first, second, release or nearest(first.versions), out, show, seed, progress)
            done = comparer.run(groups, histories, minutes * 60, start)
    except NotWritten as error:
        return print_error(Failure(f"--out {error}"), NOT_POSSIBLE)
    except Unreachable as error:
        return print_error(error, NOT_POSSIBLE)
    return report(done, comparer.versions)


def report(done: Comparison, versions: Versions) -> int:
    """Print what was compared and what differs, and return the exit status."""
    for reason, times in done.not_performed.most_common():
        print_line(f"not performed, {counted(times, 'time')}: {reason}")
    for line in done.coverage.lines(versions):
        print_line(line)
    histories = counted(done.histories.total(), "history", "histories")
    print_line(f"{histories}, {counted(done.coverage.responses, 'response')} compared, seed {done.seed}")
    for kind, times in done.kinds.most_common():
        print_line(f"{counted(times, 'time'):>11} {' '.join(map(str, kind))}")
    if done.ended:
        print_error(Failure(f"the comparison ended early: {done.ended}"), NOT_POSSIBLE)
    if done.kinds:
        return 1
    return 0 if done.coverage.responses and not done.ended else NOT_POSSIBLE


def check_groups(groups: Sequence[str]) -> None:
    """Raise UsageError if one of the groups does not exist."""
    for group in groups:
        if group not in GROUPS:
            raise UsageError(f"--groups: there are no histories of {group!r}; allowed are {', '.join(GROUPS)}")


def groups_of(given: dict[str, list[str]], first: Target, second: Target) -> list[str]:
    """Return the groups to perform. Raises UsageError if the brokers lack what a chosen group needs."""
    if len(first.nodes) != len(second.nodes):
        raise Unreachable(f"the clusters have {len(first.nodes)} and {len(second.nodes)} brokers; compare equal sizes")
    if len(first.nodes) > 1 and first.nodes != second.nodes:
        raise Unreachable("the brokers of the clusters have different ids; compare clusters with the same ids")
    missing = {group: lacks(group, first, second, "acl" in given) for group in GROUPS}
    if "groups" not in given:
        return [group for group in GROUPS if not missing[group]]
    chosen = given["groups"][0].split(",")
    for group in chosen:
        if missing[group]:
            raise UsageError(f"--groups: histories of {group!r} need {missing[group]}")
    return chosen


def target_of(address: str, given: dict[str, list[str]]) -> Target:
    """Connect to a broker. Raises Unreachable."""
    target = reached(address, "acl" in given)
    if "restart" in given:
        target.restart = lambda: restart([*shlex.split(given["restart"][0]), address], target)
    if "control" in given:
        target.brokers = Control(shlex.split(given["control"][0]), address)
    return target


def minutes_of(given: dict[str, list[str]]) -> float:
    """Return the value of --minutes."""
    text = given.get("minutes", ["10"])[0]
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 < minutes < math.inf:
        raise UsageError(f"--minutes {text}: expected a number of minutes above 0, such as 10 or 0.5")
    return minutes


def directory_of(given: dict[str, list[str]]) -> Path:
    """Return the directory for differences. Raises UsageError if the path cannot be used as a directory."""
    out = Path(given.get("out", ["differences"])[0])
    existing = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not existing.is_dir():
        raise UsageError(f"--out {out}: {existing} is not a directory")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"--out {out}: {existing} is not writable")
    return out


def number_of(given: dict[str, list[str]], name: str, default: int) -> int:
    """Return the value of an option that is a number."""
    text = given.get(name, [str(default)])[0]
    if not text.isdecimal():
        raise UsageError(f"--{name} {text}: expected a number such as {default}")
    return int(text)


def show(found: Disagreement) -> None:
    """Print a history with different responses."""
    print_line(f"\n{found.file}{'' if found.is_stable else ' (unstable: it could not be repeated)'}")
    for step in found.steps[-STEPS_SHOWN:]:
        shown = {key: value for key, value in step.items() if key not in ("op", "case")}
        print_line(f"    {step['op']} {json.dumps(shown)[:CHARACTERS_SHOWN]}")
    for difference in found.differences[:FIELDS_SHOWN]:
        print_line(f"    differs: {difference}")
