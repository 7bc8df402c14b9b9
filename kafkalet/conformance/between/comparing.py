"""Compare two live brokers with random histories of requests.

Both brokers get the same history step by step, on new topics and groups. If two answers differ, the history is shrunk:
steps and parts of steps are removed as long as the difference remains. Only the first difference of each kind is
shrunk. The shortest history is written as a scenario with the answers of the first broker.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkalet.conformance.judging.replaying import UNUSABLE, replay
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.results import Difference, Outcome
from kafkalet.conformance.transcripts import Step, Transcript, write_file

from .histories import GROUPS, history
from .pair import Found, Pair, Versions
from .shrinking import Shrinker


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The shortest history found after which two brokers respond differently; `file` has it as a scenario."""

    name: str
    steps: list[Step]
    differences: tuple[Difference, ...]
    is_stable: bool
    """Whether the difference occurs again when the history is repeated, with the same answer of the first broker."""
    file: Path


@dataclass(slots=True)
class Comparison:
    """The counts of a comparison so far."""

    seed: int
    histories: Counter[str] = field(default_factory=Counter)
    """The number of histories of each group."""
    requests: int = 0
    kinds: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    """How often each kind of difference was found: API, field, and the values if they are error codes."""
    disagreements: list[Disagreement] = field(default_factory=list)
    not_performed: list[str] = field(default_factory=list)
    """The histories that could not be performed, with the reason."""


def common_versions(first: Versions, second: Versions) -> Versions:
    """Return the versions of each API that both brokers advertise."""
    both = {
        key: (max(first[key][0], second[key][0]), min(first[key][1], second[key][1])) for key in first & second.keys()
    }
    return {key: (low, high) for key, (low, high) in both.items() if low <= high}


def check_groups(groups: Sequence[str]) -> None:
    """Raise ValueError if one of the groups does not exist."""
    for group in groups:
        if group not in GROUPS:
            raise ValueError(f"there are no histories of {group!r}; allowed are {', '.join(GROUPS)}")


class Comparer:
    """Compares two brokers. `release` is the release of Apache Kafka whose limits on configurations both accept."""

    def __init__(
        self,
        first: Target,
        second: Target,
        release: str,
        out: Path,
        found: Callable[[Disagreement], None] = lambda _: None,
        seed: int = 1,
    ) -> None:
        self.pair = Pair(first, second)
        self.release, self.out, self.found = release, out, found
        self.versions = common_versions(first.versions, second.versions)
        self.comparison = Comparison(seed)

    def run(self, groups: Sequence[str], histories: int, limit_s: float, first: int = 0) -> Comparison:
        """Perform `histories` histories of each group, from number `first` on, for at most about `limit_s` seconds."""
        end = time.monotonic() + limit_s
        for number in range(first, first + histories):
            for group in groups:
                if time.monotonic() < end:
                    self.one(group, number)
        return self.comparison

    def one(self, group: str, number: int) -> None:
        """Perform a history, and report its difference if it is the first of its kind."""
        comparison, name = self.comparison, f"{group}_{self.comparison.seed}_{number}"
        try:
            steps = history(group, comparison.seed, number, self.release, self.versions).steps
            found = self.pair.first_difference(steps)
        except UNUSABLE as error:
            comparison.not_performed.append(f"{name}: {type(error).__name__}: {error}")
            return
        finally:
            comparison.histories[group] += 1
            comparison.requests = self.pair.requests
        if found is None:
            return
        kind = found.kind(steps)
        comparison.kinds[kind] += 1
        if comparison.kinds[kind] == 1:
            self._report(f"found_{name}", steps[: found.index + 1], found, kind)

    def _report(self, name: str, steps: list[Step], found: Found, kind: tuple[Any, ...]) -> None:
        steps = Shrinker(self.pair, kind).shrunk(steps)
        again = self.pair.first_difference(steps)
        transcript = Transcript(name, {}, {self.release: self.pair.record(steps)})
        file = self.out / f"{name}.json"
        self.out.mkdir(parents=True, exist_ok=True)
        write_file(transcript, file)
        steady = all(case.outcome is Outcome.AS_KAFKA for case in replay(transcript, self.release, self.pair.first))
        differences = tuple((again or found).differences)
        disagreement = Disagreement(name, steps, differences, bool(again and steady), file)
        self.comparison.disagreements.append(disagreement)
        self.found(disagreement)
