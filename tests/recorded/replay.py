"""Replay transcripts against a broker and report the differences.

    python -m tests.recorded.replay --bootstrap 127.0.0.1:9092 tests/recorded/3.9
    python -m tests.recorded.replay --bootstrap 127.0.0.1:9092 --acl tests/recorded/3.9/acl_fetch.json

`--acl` is for a broker with SASL/PLAIN and an authorizer, `--legacy` for one that supports `message.format.version`.
Scenarios that need something else are skipped and counted.
"""

import argparse
import json
import os
import struct
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from kafkalet.protocol.errors import ProtocolError

from .matching import Difference, InOrder, Matcher, resolve
from .scenario import Player, Server, SetupFailed, compared_part

HERE = Path(__file__).parent
IN_ORDER: dict[str, InOrder] = {
    **dict.fromkeys(("AlterPartitionReassignments", "CreatePartitions", "CreateTopics", "DescribeQuorum"), True),
    **dict.fromkeys(("DescribeTopicPartitions", "Fetch", "FindCoordinator", "IncrementalAlterConfigs"), True),
    **dict.fromkeys(("ListConfigResources", "UpdateFeatures"), True),
    "Metadata": frozenset({"topics"}),  # 3.9 returns partitions in the order of a hash set
}
"""Arrays that Kafka returns in the order of the request or of ids. The order of all others depends on hash tables."""
RECORDED_IN_ORDER = "more_"
"""The prefix of transcripts that keep the order of arrays; others keep it for Fetch only."""
SHOWN = 8  # differences per case


class Case:
    """A step with an expected answer, and the differences found."""

    def __init__(self, scenario: str, line: int, name: str, problems: list[str]) -> None:
        self.scenario, self.line, self.name, self.problems = scenario, line, name, problems

    def __str__(self) -> str:
        more = [f"... and {len(self.problems) - SHOWN} more"] if len(self.problems) > SHOWN else []
        head = f"{self.scenario}, line {self.line}, {self.name!r}"
        return "\n    ".join([head, *self.problems[:SHOWN], *more])


def broker_config(release: str) -> dict[str, str]:
    """Return the properties of the recorded brokers, which do not delay rebalances to wait for more members."""
    at_once = {"group.initial.rebalance.delay.ms": "0"}
    return at_once | ({"group.consumer.assignment.interval.ms": "0"} if release >= "4" else {})


def load(path: Path) -> dict[str, Any]:
    scenario: dict[str, Any] = json.loads(path.read_text())
    return scenario


@cache
def head(path: Path) -> dict[str, Any]:
    """Return a scenario without its steps, which start on the second line of the file."""
    with path.open() as file:
        scenario: dict[str, Any] = json.loads(file.readline().removesuffix(', "steps": [\n') + "}")
    return scenario


def transcripts(release: str) -> list[Path]:
    """Return the transcripts of a release: its own, and those of other releases that list it in `also`."""
    others = (path for path in HERE.glob("*/more_*.json") if path.parent.name != release)
    return sorted(HERE.glob(f"{release}/*.json")) + sorted(p for p in others if release in head(p).get("also", []))


def scenario_files(paths: Iterable[Path]) -> list[Path]:
    return [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]


def replay(scenario: dict[str, Any], server: Server) -> list[Case]:
    """Run a scenario and return its cases, with the problems of those that failed."""
    player = Player(server, os.urandom(4).hex())
    cases: list[Case] = []
    try:
        for line, step in enumerate(scenario["steps"], start=2):
            case = Case(scenario["scenario"], line, step.get("case", step["op"]), [])
            try:
                in_order = ordered(scenario["scenario"], step.get("api", ""))
                case.problems += [str(difference) for difference in check(step, player, in_order)]
            except (ProtocolError, ValueError, struct.error) as error:
                case.problems.append(f"{type(error).__name__}: {error}")
            except SetupFailed as failure:
                case.problems.append(str(failure))
                cases += [case, *_not_run(scenario, line)]
                break
            if "case" in step:
                cases.append(case)
    finally:
        player.close()
    return cases


def _not_run(scenario: dict[str, Any], line: int) -> list[Case]:
    reason = f"never asked: line {line} failed"
    rest = enumerate(scenario["steps"][line - 1 :], start=line + 1)
    return [Case(scenario["scenario"], at, step["case"], [reason]) for at, step in rest if "case" in step]


def ordered(scenario: str, api: str) -> InOrder:
    """Return the arrays of an API's answers whose order is compared."""
    if api != "Fetch" and not scenario.startswith(RECORDED_IN_ORDER):
        return False
    return IN_ORDER.get(api, False)


def check(step: dict[str, Any], player: Player, in_order: InOrder) -> list[Difference]:
    answer = player.perform(step)
    if "case" not in step:
        return []
    expected = resolve(step["expect"], player.names)
    answer = compared_part(step, answer, player.names)
    server = player.server
    placeholders = {"$NODE": server.nodes.__contains__, "$CLUSTER": server.cluster_id.__eq__}
    matcher = Matcher(placeholders, server.now_ms)
    return matcher.differences(advertised(expected, server), answer, in_order)


def advertised(expected: Any, server: Server) -> Any:
    """Replace `$MAX` beside an API key by the version that the broker advertises."""
    match expected:
        case {"api_key": key, "max_version": "$MAX"}:
            return expected | {"max_version": server.versions[key][1]}
        case dict():
            return {name: advertised(item, server) for name, item in expected.items()}
        case list():
            return [advertised(item, server) for item in expected]
    return expected


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded.replay", description=__doc__.splitlines()[0])
    parser.add_argument("--bootstrap", default=os.environ.get("BOOTSTRAP"), help="HOST:PORT (or $BOOTSTRAP)")
    parser.add_argument("--acl", action="store_true", help="the broker uses SASL/PLAIN and an authorizer")
    parser.add_argument("--legacy", action="store_true", help="the broker supports message.format.version")
    parser.add_argument("--match", default="", help="only scenarios whose name contains this text")
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR_OR_FILE")
    options = parser.parse_args(arguments)
    if not options.bootstrap:
        parser.error("--bootstrap or $BOOTSTRAP is required")
    server = Server(options.bootstrap, options.acl, options.legacy)
    counts = {"scenarios passed": 0, "scenarios failed": 0, "left out": 0, "cases passed": 0, "cases failed": 0}
    for file in scenario_files(options.paths):
        scenario = load(file)
        if options.match not in scenario["scenario"]:
            continue
        if lacking := server.lacks(scenario["needs"]):
            print(f"skip {scenario['scenario']}: needs {lacking}")
            counts["left out"] += 1
            continue
        cases = replay(scenario, server)
        failed = [case for case in cases if case.problems]
        print(
            f"{'FAIL' if failed else 'pass'} {scenario['scenario']}: {len(cases) - len(failed)} of {len(cases)} cases"
        )
        for case in failed:
            print(f"  {case}")
        counts["scenarios failed" if failed else "scenarios passed"] += 1
        counts["cases failed"] += len(failed)
        counts["cases passed"] += len(cases) - len(failed)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["scenarios failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
