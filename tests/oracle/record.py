"""Record a release of Apache Kafka: start the brokers that the scenarios need, and record their responses.

python -m tests.oracle.record 3.9.2 [--match lo_time] [--missing] [--show]

After a scenario that could not be recorded, the others continue with new brokers, because it may have left something
behind, or stopped the controller.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from kafkalet.broker.config.release import Release
from kafkalet.commands.command_line import Failure, Option, UsageError, parse, print_line, reported
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import load, names
from tools.recording.command import chosen, needs_of, record_scenario
from tools.recording.definitions import Definition
from tools.recording.index import main as write_index
from tools.recording.recorded_properties import RACKS, broker_properties

from .apache_kafka import ApacheKafka, missing
from .network import Network

OPTIONS = (
    Option("--match", "TEXT", "use only scenarios whose name contains this text"),
    Option("--missing", "", "use only scenarios that are not recorded for this release yet"),
    Option("--show", "", "print the responses, and write no files"),
)


def record(arguments: Sequence[str]) -> int:
    """Return 1 if a scenario could not be recorded."""
    if not arguments:
        raise UsageError("record needs the version of a release: python -m tests.oracle.record 3.9.2")
    version, given = arguments[0], parse(arguments[1:], OPTIONS)
    release = ".".join(version.split(".")[: 3 if version.startswith("0.") else 2])
    if reason := missing(version):
        raise Failure(f"cannot start Apache Kafka {version}, because {reason}")
    scenarios = chosen(release, given.get("match", [""])[0])
    scenarios = [each for each in scenarios if "tiered" not in needs_of(each)]
    if not Release.of(release).runs_without_zookeeper:
        scenarios = [each for each in scenarios if brokers_for(each)[0] == 1]
    if "missing" in given:
        scenarios = [each for each in scenarios if each.name not in names() or release not in load(each.name).steps]
    failed: list[str] = []
    for brokers, same in groupby(sorted(scenarios, key=brokers_for), brokers_for):
        waiting = [*same]
        while waiting:
            with started(version, release, *brokers) as target:
                failed += recorded_until_failure(waiting, target, release, "show" in given)
    if "show" not in given:
        write_index()
    print_line(f"{len(scenarios) - len(failed)} scenarios recorded; not recorded: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def brokers_for(definition: Definition) -> tuple[int, bool, bool, bool]:
    """Return what a scenario needs: the number of brokers, and whether faults, an authorizer or delegation tokens."""
    needs: Mapping[str, Any] = needs_of(definition)
    brokers = len(RACKS) if "faults" in needs else needs.get("brokers", 1)
    return brokers, "faults" in needs, not needs.keys().isdisjoint(("acl", "tokens")), "tokens" in needs


@contextmanager
def started(version: str, release: str, brokers: int, faults: bool, acl: bool, tokens: bool) -> Iterator[Target]:
    """Run a cluster for scenarios."""
    properties = broker_properties(release, brokers, tokens=tokens, faults=faults)
    network = Network() if faults else None
    racks = RACKS if faults else ()
    with ApacheKafka(version, acl, properties, brokers, racks=racks, network=network) as kafka:
        target = Target(kafka.bootstrap_servers, acl, Release.of(release).honors_message_format, tokens=tokens)
        target.brokers = kafka if faults else None
        yield target


def recorded_until_failure(waiting: list[Definition], target: Target, release: str, only_show: bool) -> list[str]:
    """Take scenarios from a list and record them, until one fails. Return its name."""
    while waiting:
        definition = waiting.pop(0)
        if not target.lacks(needs_of(definition)) and not record_scenario(definition, target, release, only_show):
            return [definition.name]
    return []


if __name__ == "__main__":
    sys.exit(reported(lambda: record(sys.argv[1:])))
