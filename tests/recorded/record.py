"""Run the scenarios of `questions/` against Apache Kafka and record the answers.

    python -m tests.recorded.record 3.9 [--bootstrap 127.0.0.1:9092] [--match lo_time] [--acl] [--legacy]

writes `tests/recorded/3.9/more_*.json`. Without `--bootstrap`, it starts Apache Kafka of that release (2.8, 3.9 or 4.4)
and stops it afterwards, which needs Java and Maven. Each transcript is replayed immediately; if the replay fails, the
answers are not deterministic and the transcript is not written. Values that differ between runs become placeholders:
names bound in the scenario, broker ids, the cluster id, the current time, and error messages, whose text is kept as a
comment. If a release answers exactly like an earlier one, it gets no file; it is listed in `also` of the other file.
"""

import argparse
import importlib
import json
import os
import pkgutil
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkalet.protocol.errors import Code
from tests.oracle.apache_kafka import ApacheKafka, missing

from . import questions
from .asking import QUESTIONS, Question, ScenarioBuilder
from .matching import CHANCE, CLIENT_ID, HEX, IGNORED, MADE_UP, MINUTES_MS, PRESENT, UUID, in_hex
from .replay import broker_config, replay
from .scenario import Player, Server, SetupFailed, at_path, compared_part

HERE = Path(__file__).parent
NODES = {"leader_id", "controller_id", "node_id", "replica_nodes", "isr_nodes", "broker_id", "coordinator_id"}


def record(question: Question, server: Server, release: str) -> dict[str, Any]:
    """Run the steps of a question and add the answers as `expect`."""
    ask = ScenarioBuilder(question.name, release, server.versions)
    question.write(ask)
    player = Player(server, os.urandom(4).hex())
    steps = []
    try:
        for step in ask.steps:
            answer = player.perform(step)
            if "case" in step:
                expected = Placeholders(player, server, step.get("bind", {})).of(
                    compared_part(step, answer, player.names)
                )
                step = step | {"expect": with_member_id_formats(expected, step.get("bind", {}), player.names)}
            steps.append(step)
    finally:
        player.close()
    head = {"scenario": question.name, "group": question.group, "doc": question.doc, "needs": question.needs}
    return head | {"steps": steps}


def with_member_id_formats(expected: Any, bind: dict[str, str], names: dict[str, Any]) -> Any:
    """Replace newly bound ids by placeholders for their format; comparing them with themselves proves nothing."""
    for name, path in bind.items():
        *above, last = path.split(".")
        inner = at_path(expected, ".".join(above)) if above else expected
        if isinstance(inner, dict) and inner.get(last) == f"${name}":
            if not isinstance(names[name], str):
                inner[last] = f"$?{name}"
            elif made := MADE_UP.fullmatch(names[name]):
                inner[last] = "$MEMBER" if made["of"] == CLIENT_ID else f"$MEMBER:{made['of']}"
            elif UUID.fullmatch(names[name]):
                inner[last] = "$UUID"
    return expected


def masked_coordinator_record(item: dict[str, Any]) -> dict[str, Any]:
    """Mask values in coordinator records that vary by run: partitions of groups, metadata hashes and image versions."""
    match item:
        case {"topic": "__consumer_offsets", "partitions": [int(), *others]}:
            return item | {"partitions": ["$?partition"] * (1 + len(others))}
        case {"key": str(key), "value": str(value)} if key.startswith(HEX + "0003"):
            return item | {"value": re.sub(r"(?<=010008)[0-9a-f]{16}$", CHANCE, value)}
        case {"key": str(key), "value": str(value)} if key.startswith(HEX + "0010"):
            return item | {"value": re.sub(f"[0-9a-f]{{16}}(?={PRESENT})", CHANCE, value)}
    return item


class Placeholders:
    """Replaces the values in an answer that differ between runs by placeholders."""

    def __init__(self, player: Player, server: Server, just_bound: Iterable[str] = ()) -> None:
        self.server = server
        older = [name for name in player.names if name not in just_bound]
        telling = [(name, player.names[name]) for name in [*just_bound, *older] if name in player.names]
        bound = {name: value for name, value in telling if self.is_recognizable(name, value)}
        self.names = {value: f"${name}" for name, value in bound.items()}
        self.in_hex = {in_hex(value): f"<{name}>" for name, value in bound.items()}

    @staticmethod
    def is_recognizable(name: str, value: Any) -> bool:
        """Return whether a value can be recognized in an answer; epochs and small numbers cannot."""
        return isinstance(value, str) or (type(value) is int and value >= 0 and name.startswith(("P", "S")))

    def of(self, value: Any, key: str = "") -> Any:
        match value:
            case dict():
                return masked_coordinator_record(
                    {k: v for n, item in value.items() for k, v in self.field(n, item).items()}
                )
            case list():
                items = [self.of(item, key) for item in value]
                of_members = all(isinstance(item, dict) and "member_id" in item for item in items)
                return sorted(items, key=lambda item: str(item["member_id"])) if of_members else items
            case bool() | None:
                return value
            case int() if key in NODES and {value} == self.server.nodes:  # with several brokers, ids are compared
                return "$NODE"
            case int() if abs(value - time.time() * 1000) < MINUTES_MS:
                return "$NOW"
            case str() if key == "cluster_id" and value == self.server.cluster_id:
                return "$CLUSTER"
            case str() if key == "topic_id" and value not in self.names and value != "ZERO":
                return "$TEXT"  # an id without a bound name
            case int() if key in ("producer_id", "session_id"):
                name = self.names.get(value, "")
                return name if name.startswith(f"${key[0].upper()}") else value
            case str() if value.startswith(HEX):
                return self.of_hex(value)
            case str():
                return self.names.get(value, value)
        return value

    def of_hex(self, value: str) -> str:
        """Replace bound values, the longest first, and the current time in bytes by placeholders."""
        known = sorted((hex_digits for hex_digits in self.in_hex if len(hex_digits) >= 16), key=len, reverse=True)
        out, at = HEX, len(HEX)
        while at < len(value):
            found = next((hex_digits for hex_digits in known if value.startswith(hex_digits, at)), "")
            if found:
                out += self.in_hex[found]
            elif abs(int(value[at : at + 16], 16) - time.time() * 1000) < MINUTES_MS:
                out, found = out + PRESENT, value[at : at + 16]
            else:
                out += value[at : at + 2]
            at += len(found) or 2
        return out

    def field(self, name: str, item: Any) -> dict[str, Any]:
        if name in IGNORED:
            return {}
        if name.endswith("_message") and isinstance(item, str):
            return {name: "$TEXT", f"#{name}": item}
        if name == "error_code" and item:
            return {name: item, "#error": Code(item).name}
        return {name: self.of(item, name)}


def write(scenario: dict[str, Any], path: Path) -> None:
    head = json.dumps({name: value for name, value in scenario.items() if name != "steps"})
    steps = ",\n  ".join(json.dumps(step, separators=(",", ":")) for step in scenario["steps"])
    path.write_text(f'{head[:-1]}, "steps": [\n  {steps}\n]}}\n')


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded.record", description=__doc__.splitlines()[0])
    parser.add_argument("release", help="the Kafka release, named like its directory")
    parser.add_argument(
        "--bootstrap", default=os.environ.get("BOOTSTRAP"), help="HOST:PORT of a broker (or $BOOTSTRAP)"
    )
    parser.add_argument("--acl", action="store_true")
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--match", default="", help="only scenarios whose name contains this text")
    parser.add_argument("--show", action="store_true", help="print the answers without writing files")
    options = parser.parse_args(arguments)
    for module in pkgutil.iter_modules(questions.__path__):
        importlib.import_module(f"{questions.__name__}.{module.name}")
    if options.bootstrap:
        return record_all(Server(options.bootstrap, options.acl, options.legacy), options)
    if reason := missing(options.release):
        parser.error(f"cannot start Apache Kafka, because {reason}; install it, or name a broker with --bootstrap")
    with ApacheKafka(options.release, options.acl, broker_config(options.release)) as kafka:
        return record_all(Server(kafka.bootstrap_servers, options.acl, options.legacy), options)


def record_all(server: Server, options: argparse.Namespace) -> int:
    """Record the selected scenarios that the broker supports; return the exit status."""
    failed = 0
    for question in QUESTIONS:
        wanted = options.release in question.releases and options.match in question.name
        if not wanted or server.lacks(question.needs):
            continue
        try:
            scenario = record(question, server, options.release)
        except SetupFailed as failure:
            print(f"FAILED {question.name}: {failure}")
            failed += 1
            continue
        if options.show:
            show(scenario)
        else:
            failed += not keep(scenario, server, options.release, question.releases[0])
    return 1 if failed else 0


def keep(scenario: dict[str, Any], server: Server, release: str, first: str) -> bool:
    """Write the transcript if a replay succeeds; if the first release has the same answers, list the release there."""
    cases = replay(scenario, server)
    for case in cases:
        if case.problems:
            print(f"UNSTEADY {case}")
            return False
    name = f"{scenario['scenario']}.json"
    own, other = HERE / release / name, HERE / first / name
    same = json.loads(other.read_text()) if release != first and other.exists() else {}
    if same and without_comments(same) == without_comments(scenario):
        same["also"] = sorted({release, *same.get("also", [])})
        write(same, other)
        own.unlink(missing_ok=True)
        print(f"{name}: {len(cases)} cases, as in {first}")
        return True
    if same and release in same.get("also", []):
        write(same | {"also": [one for one in same["also"] if one != release]}, other)
    write(scenario, own)
    print(f"{name}: {len(cases)} cases")
    return True


def without_comments(scenario: Any) -> Any:
    """Return a transcript without comments and without `also`."""
    match scenario:
        case dict():
            return {
                key: without_comments(value)
                for key, value in scenario.items()
                if key != "also" and not key.startswith("#")
            }
        case list():
            return [without_comments(value) for value in scenario]
    return scenario


def show(scenario: dict[str, Any]) -> None:
    print(f"== {scenario['scenario']}: {scenario['doc']}")
    for step in scenario["steps"]:
        if "case" in step:
            print(f"{step['case']}\n    {json.dumps(step['expect'])[:1500]}")


if __name__ == "__main__":
    sys.exit(main())
