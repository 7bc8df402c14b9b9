"""Send the same random histories of requests to Apache Kafka and kafkalet, and report the first difference of each.

    python -m tests.oracle.differential --release 3.9 --kafka 127.0.0.1:9092 [--seed 7] [--histories 200]
        [--groups list_offsets,fetch] [--out differences]

Histories are random but reproducible from a seed (`histories/`). Both brokers get them step by step, on new topics. If
two answers differ, the history is shrunk: steps and parts of steps are removed as long as the difference remains. The
result is written with Kafka's answers as a scenario in the format of `tests/recorded`, which can be replayed and kept.
Only the first difference of each kind is shrunk. If a replay against Kafka differs too, the scenario is reported as
UNSTEADY.

Without `--kafka`, an Apache Kafka of that release is started, as for the other oracle tests.
"""

import argparse
import copy
import json
import logging
import os
import re
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import kafkalet
from kafkalet.conformance.building import Step
from kafkalet.conformance.judging.replaying import advertised, replay
from kafkalet.conformance.playing.matching import Difference, Matcher, resolve
from kafkalet.conformance.playing.player import Player, SetupFailed, compared_part
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.recording.recorded_properties import broker_properties
from kafkalet.conformance.recording.recorder import Placeholders
from kafkalet.conformance.results import Outcome
from kafkalet.conformance.transcripts import Transcript, save
from kafkalet.protocol.errors import ProtocolError

from .apache_kafka import ApacheKafka
from .histories import GROUPS, history

PATIENCE_S = 40  # time limit for shrinking one history
QUIET = {"log.initial.task.delay.ms": "100000000", "log.retention.check.interval.ms": "100000000"}
OPTIONAL = (
    "set", "codec", "headers", "ts_type", "offset_delta", "inner_offsets", "transactional", "rack_id",
    "replica_state", "assignments", "forgotten_topics_data", "isolation_level", "max_bytes", "min_bytes",
    "max_wait_ms", "current_leader_epoch", "last_fetched_epoch", "log_start_offset", "replica_id", "acks",
    "producer_id",
)  # fmt: skip


class Found(NamedTuple):
    """A step with different answers from the two brokers."""

    index: int
    expected: Any
    differences: list[Difference]

    def kind(self, steps: list[Step]) -> tuple[Any, ...]:
        step, first = steps[self.index], self.differences[0]
        path = re.sub(r"\[\d+\]", "", first.path)
        telling = "error" in path or "connection" in path
        sides = (side if isinstance(side, int | None) and abs(side or 0) < 200 else type(side) for side in first[1:])
        return (step.get("api", step["op"]), path, *(sides if telling else ()))


class Pair:
    """Apache Kafka and kafkalet, which get the same requests."""

    def __init__(self, kafka: Target, ours: Target) -> None:
        self.kafka, self.ours = kafka, ours
        self.requests = 0

    def first_difference(self, steps: list[Step]) -> Found | None:
        """Run the steps on new topics and return the first difference; raise SetupFailed if a setup step fails."""
        unique = os.urandom(4).hex()
        players = [Player(server, unique) for server in (self.kafka, self.ours)]
        try:
            for index, step in enumerate(steps):
                expected, got = (perform(player, step) for player in players)
                if "case" not in step:
                    continue
                self.requests += 1
                if differences := self.compare(step, players, expected, got):
                    return Found(index, self.placed(step, players[0], expected), differences)
        finally:
            for player in players:
                player.close()
        return None

    def compare(self, step: Step, players: list[Player], expected: Any, got: Any) -> list[Difference]:
        for name in step.get("bind", {}):
            bound = [player.names.get(name) for player in players]
            if any(value in (0, None, "ZERO") for value in bound) and bound[0] != bound[1]:
                return [Difference(f"bound to {name}", *bound)]
        placed = self.placed(step, players[0], expected)
        wanted = advertised(resolve(placed, players[1].names), self.ours)
        matcher = Matcher({"$NODE": self.ours.nodes.__contains__, "$CLUSTER": self.ours.cluster_id.__eq__})
        counts = compared_part(step, got, players[1].names)
        return matcher.differences(wanted, counts, in_order=step.get("api") == "Fetch")

    def placed(self, step: Step, player: Player, answer: Any) -> Any:
        """Replace the values in Kafka's answer that differ between brokers by placeholders."""
        return Placeholders(player, self.kafka, step.get("bind", ())).of(compared_part(step, answer, player.names))

    def record(self, steps: list[Step]) -> list[Step]:
        """Return the steps with Kafka's answers."""
        player = Player(self.kafka, os.urandom(4).hex())
        out = []
        try:
            for step in steps:
                answer = perform(player, step)
                expect = {"expect": self.placed(step, player, answer)} if "case" in step else {}
                out.append(step | expect)
        finally:
            player.close()
        return out


def perform(player: Player, step: Step) -> Any:
    try:
        return player.perform(step)
    except (ProtocolError, struct.error, IndexError, ValueError) as error:
        return {"unreadable": type(error).__name__}


class Shrinker:
    """Removes the steps and fields that a difference does not need."""

    def __init__(self, pair: Pair, kind: tuple[Any, ...]) -> None:
        self.pair, self.kind = pair, kind
        self.deadline = time.monotonic() + PATIENCE_S

    def shrunk(self, steps: list[Step]) -> list[Step]:
        size = max(len(steps) // 2, 1)
        while size:
            at = 0
            while at < len(units(steps)) - 1:
                kept = units(steps)
                del kept[at : min(at + size, len(kept) - 1)]
                steps, less = self.either(steps, [step for unit in kept for step in unit])
                at += 0 if less else size
            size //= 2
        for _ in range(2):
            steps = self.simplified(steps)
        return steps

    def simplified(self, steps: list[Step]) -> list[Step]:
        for place in reversed(list(parts(steps, ()))):
            candidate = copy.deepcopy(steps)
            parent: Any = candidate
            try:
                for key in place[:-1]:
                    parent = parent[key]
                del parent[place[-1]]
            except (LookupError, TypeError):
                continue
            steps, _ = self.either(steps, candidate)
        return steps

    def either(self, steps: list[Step], less: list[Step]) -> tuple[list[Step], bool]:
        """Return the candidate, truncated after the difference, if it still shows it; otherwise the original steps."""
        if time.monotonic() > self.deadline:
            return steps, False
        try:
            found = self.pair.first_difference(less)
        except (SetupFailed, KeyError):
            return steps, False
        if found is None or found.kind(less) != self.kind:
            return steps, False
        return less[: found.index + 1], True


def units(steps: list[Step]) -> list[list[Step]]:
    """Group steps that must be removed together: waiting for a topic belongs to creating it."""
    out: list[list[Step]] = []
    for step in steps:
        if step["op"] == "poll_until" and out:
            out[-1].append(step)
        else:
            out.append([step])
    return out


def parts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of list items and dict keys that may be removed."""
    match value:
        case dict():
            for key, item in value.items():
                if key in OPTIONAL:
                    yield (*path, key)
                yield from parts(item, (*path, key))
        case list():
            for n, item in enumerate(value):
                if path and len(value) > 1:
                    yield (*path, n)
                yield from parts(item, (*path, n))


class Run:
    def __init__(self, pair: Pair, release: str, out: Path) -> None:
        self.pair, self.release, self.out = pair, release, out
        self.kinds: Counter[tuple[Any, ...]] = Counter()
        self.histories: Counter[str] = Counter()
        self.steady: list[str] = []
        """Scenarios that Kafka answers in the same way twice, and kafkalet differently."""

    def one(self, group: str, seed: int, number: int) -> None:
        steps = history(group, seed, number, self.release, self.pair.kafka.versions).steps
        self.histories[group] += 1
        try:
            found = self.pair.first_difference(steps)
        except SetupFailed as failure:
            print(f"{group} {seed}/{number}: FAILED {failure}", flush=True)
            return
        if found is None:
            return
        kind = found.kind(steps)
        self.kinds[kind] += 1
        if self.kinds[kind] == 1:
            self.report(f"found_{group}_{seed}_{number}", group, steps[: found.index + 1], kind)

    def report(self, name: str, group: str, steps: list[Step], kind: tuple[Any, ...]) -> None:
        steps = Shrinker(self.pair, kind).shrunk(steps)
        found = self.pair.first_difference(steps)
        transcript = Transcript(name, {}, {self.release: self.pair.record(steps)})
        self.out.mkdir(parents=True, exist_ok=True)
        save(transcript, self.out)
        again = replay(transcript, self.release, self.pair.kafka)
        unsteady = [case for case in again if case.outcome is not Outcome.AS_KAFKA]
        if found and not unsteady:
            self.steady.append(name)
        print(f"\n== {name} {kind}{'' if name in self.steady else ' UNSTEADY'}")
        for step in steps:
            shown = {key: value for key, value in step.items() if key not in ("op", "case")}
            print(f"   {step['op']} {json.dumps(shown)[:700]}")
        for difference in found.differences[:6] if found else ():
            print(f"   >> {difference}")
        sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.differential", description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="3.9")
    parser.add_argument("--kafka", help="HOST:PORT of an Apache Kafka of that release")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=100, help="per group")
    parser.add_argument("--first", type=int, default=0, help="number of the first history")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--minutes", type=float, default=1e9, help="time limit in minutes")
    parser.add_argument("--out", type=Path, default=Path("differences"))
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # malformed requests cause a line for each closed connection
    with ExitStack() as stack:
        config = broker_properties(options.release)
        kafka = ApacheKafka(options.release, config=config)
        address = options.kafka or stack.enter_context(kafka).bootstrap_servers
        broker = stack.enter_context(kafkalet.Broker(kafka_version=options.release, config=config | QUIET))
        legacy = options.release == "2.8"
        run = Run(Pair(Target(address, legacy=legacy), Target(broker.bootstrap_servers)), options.release, options.out)
        end = time.monotonic() + options.minutes * 60
        for number in range(options.first, options.first + options.histories):
            for group in options.groups.split(","):
                if time.monotonic() < end:
                    run.one(group, options.seed, number)
    print(f"\n{sum(run.histories.values())} histories, {run.pair.requests} answers compared: {dict(run.histories)}")
    for kind, times in run.kinds.most_common():
        print(f"{times:4} {kind}")
    return 1 if run.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
