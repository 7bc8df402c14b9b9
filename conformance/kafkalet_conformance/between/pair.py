"""Send the same steps to two brokers or clusters, and find the first step with different responses."""

import math
import os
import re
import struct
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kafkalet.protocol.errors import ProtocolError
from kafkalet_conformance.judging.replaying import advertised
from kafkalet_conformance.playing.connection import Closed, NoAnswer
from kafkalet_conformance.playing.matching import Matcher, resolve
from kafkalet_conformance.playing.placeholders import Placeholders
from kafkalet_conformance.playing.placement import is_about_one_broker, renamed
from kafkalet_conformance.playing.player import Player, compared_part
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Difference
from kafkalet_conformance.transcripts import Step

from .coverage import Coverage

Versions = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Found:
    """A step with different responses from the two brokers."""

    index: int
    """The index of the step."""
    expected: Any
    differences: list[Difference]

    def kind(self, steps: list[Step]) -> tuple[Any, ...]:
        """Return what all differences of this kind have in common: API, field, and the values if they are errors."""
        step, first = steps[self.index], self.differences[0]
        path = re.sub(r"\[[^]]*\]", "", first.path)
        telling = "error" in path or "connection" in path
        sides = (
            side if isinstance(side, int | None) and abs(side or 0) < 200 else type(side)
            for side in (first.expected, first.actual)
        )
        return (step.get("api", step["op"]), path, *(sides if telling else ()))


class Pair:
    """Two brokers, or clusters with the same ids, that get the same requests. The responses of the first one are the
    expected ones. Steps raise OutOfTime after `deadline`, a time of `time.monotonic`.
    """

    def __init__(self, first: Target, second: Target) -> None:
        self.first, self.second = first, second
        if len(first.nodes) > 1:
            first.main = second.main = min(first.nodes)
        self.needs: Mapping[str, Any] = {}
        """What the steps need, as in a transcript; see docs/scenario-format.md."""
        self.coverage = Coverage()
        self.deadline = math.inf
        self.uniques: set[str] = set()
        """The unique parts of the names of topics and groups that were used."""

    def first_difference(self, steps: list[Step]) -> Found | None:
        """Run the steps on new topics and return the first difference; raise SetupFailed if a setup step fails."""
        names = [os.urandom(4).hex()] * 2
        if self.first.cluster_id == self.second.cluster_id:
            names[1] = os.urandom(4).hex()  # two addresses of one cluster
        targets = zip((self.first, self.second), names, strict=True)
        players = [self.player(target, name, steps) for target, name in targets]
        try:
            with ThreadPoolExecutor(len(players)) as threads:  # waits take the same time on both sides
                for index, step in enumerate(steps):
                    if players[0].is_placed and is_about_one_broker(step):
                        continue
                    expected, got = threads.map(perform, players, [step] * len(players))
                    self.coverage.add(step, expected)
                    if "case" in step and (differences := self.compare(step, players, expected, got)):
                        return Found(index, self.placed(step, players[0], expected), differences)
        finally:
            for player in players:
                player.close()
        return None

    def player(self, target: Target, unique: str, steps: list[Step]) -> Player:
        self.uniques.add(unique)
        player = Player(target, unique, self.deadline)
        if "brokers" in self.needs:
            player.home = min(target.nodes)
        elif len(target.nodes) > 1:
            player.place(steps)
        return player

    def compare(self, step: Step, players: list[Player], expected: Any, got: Any) -> list[Difference]:
        for name in step.get("bind", {}):
            bound = [player.names.get(name) for player in players]
            if any(value in (0, None, "ZERO") for value in bound) and bound[0] != bound[1]:
                return [Difference(f"bound to {name}", *bound)]
        placed = self.placed(step, players[0], expected)
        wanted = renamed(advertised(resolve(placed, players[1].names), self.second), players[1].renamed)
        matcher = Matcher({"$NODE": self.second.nodes.__contains__, "$CLUSTER": self.second.cluster_id.__eq__})
        counts = compared_part(step, got, players[1].names)
        return matcher.differences(wanted, counts, in_order=step.get("api") == "Fetch")

    def placed(self, step: Step, player: Player, answer: Any) -> Any:
        """Return a response of the first broker, with placeholders for the values that differ between brokers."""
        placeholders = Placeholders(player, self.first, step.get("bind", ()))
        answer = renamed(answer, {name: literal for literal, name in player.renamed.items()})
        return placeholders.of(compared_part(step, answer, player.names))

    def record(self, steps: list[Step]) -> list[Step]:
        """Return the steps with the responses of the first broker."""
        player = self.player(self.first, os.urandom(4).hex(), steps)
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
    """Perform a step. Return a description of the error if it fails."""
    try:
        return player.perform(step)
    except (ProtocolError, struct.error, IndexError, ValueError) as error:
        return {"unreadable": type(error).__name__}
    except (Closed, NoAnswer) as error:
        return {"connection": type(error).__name__}
