"""The same histories of requests to Apache Kafka and to kafkalet: where do their answers differ first?

    python -m tests.oracle.differential --release 3.9 --kafka 127.0.0.1:9092 [--seed 7] [--histories 200]
        [--groups list_offsets,fetch] [--out differences]

Histories are made by chance, and a seed makes the same ones again (`histories/`). Both brokers get them on fresh
topics, step by step. When two answers differ, steps and their parts are left out as long as they still do, and what
remains is written down with Kafka's answers: a scenario like those of `tests/recorded`, which can be replayed and kept.
Differences of one kind are shrunk once. A scenario that Kafka itself does not answer twice in the same way is chance,
and said to be.

Without `--kafka` a Kafka of that release is started, as for the other tests here.
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
from kafkalet.protocol.errors import ProtocolError
from tests.recorded.asking import Step
from tests.recorded.matching import Difference, Matcher, resolve
from tests.recorded.record import Placeholders, write
from tests.recorded.replay import advertised, broker_config, replay
from tests.recorded.scenario import Player, Server, SetupFailed, compared_part

from .apache_kafka import ApacheKafka
from .histories import GROUPS, history

PATIENCE_S = 40  # for shrinking one history
QUIET = {"log.initial.task.delay.ms": "100000000", "log.retention.check.interval.ms": "100000000"}
OPTIONAL = (
    "set", "codec", "headers", "ts_type", "offset_delta", "inner_offsets", "transactional", "rack_id",
    "replica_state", "assignments", "forgotten_topics_data", "isolation_level", "max_bytes", "min_bytes",
    "max_wait_ms", "current_leader_epoch", "last_fetched_epoch", "log_start_offset", "replica_id", "acks",
    "producer_id",
)  # fmt: skip


class Found(NamedTuple):
    """A step that both brokers answered, differently."""

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
    """Apache Kafka and kafkalet, asked the same."""

    def __init__(self, kafka: Server, ours: Server) -> None:
        self.kafka, self.ours = kafka, ours
        self.requests = 0

    def first_difference(self, steps: list[Step]) -> Found | None:
        """Play on fresh topics; raises SetupFailed where a step that has to succeed does not."""
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
        """Kafka's answer as it is expected of any broker."""
        return Placeholders(player, self.kafka, step.get("bind", ())).of(compared_part(step, answer, player.names))

    def record(self, steps: list[Step]) -> list[Step]:
        """The steps with Kafka's answers."""
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
    """Leaves out what a difference does not need."""

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
        """The candidate, cut behind the difference, if it still shows it."""
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
    """Steps that are left out together: who waits for a topic belongs to the making of it."""
    out: list[list[Step]] = []
    for step in steps:
        if step["op"] == "poll_until" and out:
            out[-1].append(step)
        else:
            out.append([step])
    return out


def parts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where a list in a body has items and a dict has keys that can be left out."""
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
        """The scenarios that Kafka answers in the same way twice, and kafkalet otherwise."""

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
        scenario = {"scenario": name, "group": group, "doc": "Found by chance.", "needs": {}}
        scenario["steps"] = self.pair.record(steps)
        self.out.mkdir(parents=True, exist_ok=True)
        write(scenario, self.out / f"{name}.json")
        unsteady = [case for case in replay(scenario, self.pair.kafka) if case.problems]
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
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--out", type=Path, default=Path("differences"))
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # a line for each connection that a broken request closes
    with ExitStack() as stack:
        config = broker_config(options.release)
        kafka = ApacheKafka(options.release, config=config)
        address = options.kafka or stack.enter_context(kafka).bootstrap_servers
        broker = stack.enter_context(kafkalet.Broker(kafka_version=options.release, config=config | QUIET))
        legacy = options.release == "2.8"
        run = Run(Pair(Server(address, legacy=legacy), Server(broker.bootstrap_servers)), options.release, options.out)
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
