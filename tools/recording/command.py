"""`python -m tools.recording`: record the responses of a release, compare two releases, or write the index."""

import json
from collections.abc import Sequence
from dataclasses import replace

from kafkalet.broker.config.rule import KRAFT
from kafkalet.commands.command_line import Failure, Option, UsageError, parse, parse_address, print_error, print_line
from kafkalet.commands.help import option_lines
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet_conformance.judging.nearest import ONLY_NAMED, recorded_releases
from kafkalet_conformance.judging.replaying import UNUSABLE, description
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import Step, Transcript, by_release, load, names, save

from .definitions import Definition
from .index import main as write_index
from .recorder import Unsteady, record
from .review import changes, compare
from .scenarios import definitions

HELP = """usage: python -m tools.recording record RELEASE --bootstrap HOST:PORT [OPTION]...
       python -m tools.recording review RELEASE RELEASE [--match TEXT]
       python -m tools.recording index

`record` performs the scenarios against a broker of Apache Kafka, and writes its responses as those
of the release. Each scenario is performed twice; it is not recorded if a response changes. `record`
prints the differences from the earlier recording, or from that of the release before. `review`
prints the differences between two recorded releases. `index` writes the catalog of the recordings,
which `record` does as well.

{options}

Exit status: 0 if every scenario was recorded, 1 if not, 2 if the command line is invalid.
"""
OPTIONS = (
    Option("--bootstrap", "HOST:PORT", "the address of a broker of this release"),
    Option("--match", "TEXT", "use only scenarios whose name contains this text"),
    Option("--acl", "", "the broker has SASL/PLAIN and an authorizer"),
    Option("--tokens", "", "the broker has SASL/PLAIN, an authorizer and delegation tokens"),
    Option("--tiered", "", "the broker has tiered storage, in a LocalTieredStorage"),
    Option("--legacy", "", "the broker supports message.format.version"),
    Option("--show", "", "print the responses, and write no files"),
    Option("--help", "", "print this help and exit", aliases=("-h",)),
)


SHOWN = 100
"""If a scenario has more changes, they are only counted: it was probably rewritten."""


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status. Raises UsageError for invalid arguments."""
    if not {"-h", "--help"}.isdisjoint(arguments):
        print_line(HELP.format(options=option_lines(OPTIONS)).rstrip())
        return 0
    try:
        match arguments:
            case ["record", *rest]:
                return record_release(rest)
            case ["review", *rest]:
                return review_releases(rest)
            case ["index"]:
                write_index()
                return 0
    except Failure as error:
        return print_error(error, 2)
    raise UsageError("expected record, review or index; see python -m tools.recording --help")


def record_release(arguments: Sequence[str]) -> int:
    """Record the scenarios of a release; return 1 if one could not be recorded."""
    if not arguments or arguments[0].startswith("-"):
        raise UsageError(
            "record needs the name of a release: python -m tools.recording record 3.9 --bootstrap HOST:PORT"
        )
    release, given = arguments[0], parse(arguments[1:], OPTIONS)
    if "bootstrap" not in given:
        raise UsageError("record needs the address of a broker: --bootstrap HOST:PORT")
    for address in given["bootstrap"][0].split(","):
        parse_address("--bootstrap", address, least_port=1)
    scenarios = chosen(release, given.get("match", [""])[0])
    try:
        acl = "acl" in given or "tokens" in given
        target = Target(
            given["bootstrap"][0], acl, "legacy" in given, tokens="tokens" in given, tiered="tiered" in given
        )
    except UNUSABLE as error:
        raise Failure(f"the broker at {given['bootstrap'][0]} cannot be recorded: {description(error)}") from error
    failed = 0
    try:
        for definition in scenarios:
            if not target.lacks(needs_of(definition)):
                failed += not record_scenario(definition, target, release, "show" in given)
        if "show" not in given:
            write_index()
    except OSError as error:
        raise Failure(f"the recordings cannot be written: {error}") from error
    return 1 if failed else 0


def chosen(release: str, matching: str = "") -> list[Definition]:
    """Return the scenarios for a release whose names contain `matching`. Raises UsageError if there are none."""
    if release not in (releases := [each for each in RELEASES if each != NEWEST]):
        known = ", ".join(releases)
        raise UsageError(f"record {release}: the releases are {known}; add others to kafkalet/protocol/releases.py")
    if not any(matching in name for name in definitions()):
        raise UsageError(f"--match {matching}: no scenario has this in its name; kafkalet conform --list shows them")
    return [each for each in definitions().values() if matching in each.name and is_for(each, release)]


def review_releases(arguments: Sequence[str]) -> int:
    """Print what changed between two recorded releases."""
    releases, given = arguments[:2], parse(arguments[2:], (OPTIONS[1],))
    known = recorded_releases()
    for release in releases:
        if release not in known:
            raise UsageError(f"release {release} is not recorded; recorded releases are {', '.join(known)}")
    if len(releases) < 2:
        raise UsageError("review needs two releases: python -m tools.recording review 3.9 4.4")
    matching = given.get("match", [""])[0]
    for name in names():
        transcript = load(name)
        if matching in name and all(release in transcript.steps for release in releases):
            for change in changes(transcript, *releases):
                print_line(str(change))
    return 0


def is_for(definition: Definition, release: str) -> bool:
    """Return whether a scenario is recorded for a release.

    A release that no definition names gets the scenarios of the next newer one that they name, or of the newest. One
    with ZooKeeper gets those of 2.8 and those of 3.9.
    """
    recorded = definition.releases or load(definition.name).steps
    if numbers(release) < [*KRAFT]:
        return not {"2.8", "3.9"}.isdisjoint(recorded)
    named = by_release({each: [] for known in definitions().values() for each in known.releases})
    later = [each for each in named if each not in ONLY_NAMED and numbers(each) >= numbers(release)]
    like = release if release in named else [*later, [*named][-1]][0]
    return like in recorded


def numbers(release: str) -> list[int]:
    return [int(number) for number in release.split(".")]


def needs_of(definition: Definition) -> dict[str, object]:
    """Return what a scenario needs, according to its definition or its transcript."""
    return dict(definition.needs if definition.write is not None else load(definition.name).needs)


def record_scenario(definition: Definition, target: Target, release: str, only_show: bool) -> bool:
    """Record a scenario, and print what changed. Return whether it could be recorded."""
    try:
        steps = record(definition, target, release)
    except (Unsteady, *UNUSABLE) as error:
        print_line(f"{definition.name}: not recorded: {description(error)}")
        return False
    if only_show:
        show(definition, steps)
        return True
    old = load(definition.name) if definition.name in names() else Transcript(definition.name, definition.needs, {})
    before = old.steps.get(release) or next(iter(reversed(list(old.steps.values()))), None)
    new = replace(old, needs=needs_of(definition), steps=by_release({**old.steps, release: steps}))
    save([new], definition.area)
    changed = compare(old, before, steps) if before else []
    what = "new" if before is None else f"{len(changed)} changes" if changed else "no change"
    print_line(f"{definition.name}: {what}")
    for change in changed if release not in old.steps or len(changed) < SHOWN else ():
        print_line(f"  {change}")
    return True


def show(definition: Definition, steps: list[Step]) -> None:
    print_line(f"== {definition.name}: {definition.claim}")
    for step in steps:
        if "case" in step:
            print_line(f"{step['case']}\n    {json.dumps(step['expect'])[:1500]}")
