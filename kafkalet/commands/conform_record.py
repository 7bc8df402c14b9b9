"""`kafkalet conform record`: records the answers of a broker as those of a release."""

import json
from collections.abc import Sequence
from dataclasses import replace

from kafkalet.conformance.building import Definition
from kafkalet.conformance.playing.player import SetupFailed
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.recording.index import main as write_index
from kafkalet.conformance.recording.recorder import Unsteady, record
from kafkalet.conformance.scenarios import definitions
from kafkalet.conformance.transcripts import Step, Transcript, load, names, save, without_comments

from .command_line import Option, UsageError, parse, print_line

OPTIONS = (
    Option("--bootstrap", "HOST:PORT", "the address of a broker of this release"),
    Option("--match", "TEXT", "only scenarios whose name contains this text"),
    Option("--acl", "", "the broker has SASL/PLAIN and an authorizer"),
    Option("--legacy", "", "the broker supports message.format.version"),
    Option("--show", "", "print the answers, and write no files"),
)


def main(arguments: Sequence[str]) -> int:
    """Record the scenarios of a release; return 1 if one could not be recorded."""
    if not arguments or arguments[0].startswith("-"):
        raise UsageError("record needs the name of a release: kafkalet conform record 3.9 --bootstrap HOST:PORT")
    release, given = arguments[0], parse(arguments[1:], OPTIONS)
    if "bootstrap" not in given:
        raise UsageError("record needs the address of a broker: --bootstrap HOST:PORT")
    target = Target(given["bootstrap"][0], "acl" in given, "legacy" in given)
    matching = given.get("match", [""])[0]
    failed = 0
    for definition in definitions().values():
        wanted = matching in definition.name and (release in definition.releases or definition.write is None)
        if wanted and not target.lacks(needs_of(definition)):
            failed += not _record(definition, target, release, "show" in given)
    if "show" not in given:
        write_index()
    return 1 if failed else 0


def needs_of(definition: Definition) -> dict[str, object]:
    """Return what a scenario needs, according to its definition or its transcript."""
    return dict(definition.needs if definition.write is not None else load(definition.name).needs)


def _record(definition: Definition, target: Target, release: str, only_show: bool) -> bool:
    try:
        steps = record(definition, target, release)
    except (SetupFailed, Unsteady) as error:
        print_line(f"{definition.name}: not recorded: {error}")
        return False
    if only_show:
        show(definition, steps)
        return True
    old = load(definition.name) if definition.name in names() else Transcript(definition.name, definition.needs, {})
    before = old.steps.get(release)
    save(replace(old, needs=needs_of(definition), steps=dict(sorted({**old.steps, release: steps}.items()))))
    changed = before is not None and without_comments(before) != without_comments(steps)
    print_line(f"{definition.name}: {'new' if before is None else 'changed' if changed else 'as before'}")
    return True


def show(definition: Definition, steps: list[Step]) -> None:
    print_line(f"== {definition.name}: {definition.claim}")
    for step in steps:
        if "case" in step:
            print_line(f"{step['case']}\n    {json.dumps(step['expect'])[:1500]}")
