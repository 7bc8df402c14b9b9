"""Compare two live brokers with random histories of requests.

Both brokers get the same history step by step, on new topics and groups. If two responses differ, the history is
shrunk: steps and parts of steps are removed as long as the difference remains. Only the first difference of each kind
is shrunk. The shortest history is written as a scenario with the responses of the first broker.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkalet_conformance.judging.cleaning import clean
from kafkalet_conformance.judging.replaying import UNUSABLE, description, replay
from kafkalet_conformance.playing.connection import OutOfTime
from kafkalet_conformance.playing.serving import asked, other_version, serves
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Difference, Outcome
from kafkalet_conformance.transcripts import Step, Transcript, write_file

from .coverage import Coverage
from .histories import GROUPS, NotServed, history
from .pair import Found, Pair, Versions
from .shrinking import PATIENCE_S, Shrinker


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The shortest history that was found to make two brokers respond differently; `file` contains it as a scenario."""

    name: str
    steps: list[Step]
    differences: tuple[Difference, ...]
    is_stable: bool
    """Whether the difference occurs again when the history is repeated, with the same response of the first broker."""
    file: Path


@dataclass(slots=True)
class Comparison:
    """The counts of a comparison so far."""

    seed: int
    histories: Counter[str] = field(default_factory=Counter)
    """The number of histories of each group."""
    coverage: Coverage = field(default_factory=Coverage)
    kinds: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    """How often each kind of difference was found: API, field, and the values if they are error codes."""
    disagreements: list[Disagreement] = field(default_factory=list)
    not_performed: Counter[str] = field(default_factory=Counter)
    """The number of histories that could not be performed, keyed by group and reason."""
    ended: str = ""
    """Why the comparison ended early, if a broker was no longer reachable."""


REPORT_S = 2 * PATIENCE_S
"""The limit for shrinking and recording one difference; it may exceed the limit of the comparison."""
CLEANING_S = 10
REACH_S = 15
"""The time that a broker has for its first responses."""


class NotWritten(Exception):
    """A difference could not be written to its file."""


class Unreachable(Exception):
    """A server does not respond like a broker."""


def reached(address: str, acl: bool = False) -> Target:
    """Connect to a broker, and request the versions that it serves. Raises Unreachable."""
    try:
        return Target(address, acl, deadline=time.monotonic() + REACH_S)
    except OutOfTime as error:
        raise Unreachable(f"the broker at {address} did not respond within {REACH_S} s") from error
    except UNUSABLE as error:
        raise Unreachable(f"the broker at {address} cannot be compared: {description(error)}") from error


def common_versions(first: Versions, second: Versions) -> Versions:
    """Return the versions of each API that both brokers advertise."""
    both = {
        key: (max(first[key][0], second[key][0]), min(first[key][1], second[key][1])) for key in first & second.keys()
    }
    return {key: (low, high) for key, (low, high) in both.items() if low <= high}


def fitted(steps: Sequence[Step], versions: Versions) -> Iterator[Step]:
    """Yield steps that both brokers serve: others are sent in another version, or left out."""
    for step in steps:
        api, version = asked(step)
        if api is None or serves(versions, api, version):
            yield step
        elif (other := other_version(step, versions)) is not None:
            yield step | {"version": other}


def lacks(group: str, first: Target, second: Target, acl: bool) -> str:
    """Return what a group of histories needs but the brokers lack; "" if they can perform it."""
    needs = GROUPS[group]
    if needs.acl != acl:
        return "brokers with an authorizer: add --acl" if needs.acl else "brokers without an authorizer: omit --acl"
    if needs.brokers > len(first.nodes):
        return f"clusters of at least {needs.brokers} brokers"
    if needs.restart and not (first.restart and second.restart):
        return "a command that restarts a broker: add --restart"
    if needs.faults and not (first.brokers and second.brokers):
        return "a command that stops and starts brokers: add --control"
    return ""


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
        progress: Callable[["Comparison"], None] = lambda _: None,
    ) -> None:
        self.pair = Pair(first, second)
        self.release, self.out, self.found, self.progress = release, out, found, progress
        self.versions = common_versions(first.versions, second.versions)
        self.comparison = Comparison(seed, coverage=self.pair.coverage)

    def run(self, groups: Sequence[str], histories: int, limit_s: float, first: int = 0) -> Comparison:
        """Perform `histories` histories of each group, beginning with number `first`, for at most `limit_s` seconds.

        If the time runs out while a difference is being shrunk, this may take `REPORT_S` more. Topics and groups are
        removed at the end. The comparison also ends if a broker does not accept connections.
        """
        end = time.monotonic() + limit_s
        try:
            for number in range(first, first + histories):
                for group in groups:
                    if number % GROUPS[group].every:
                        continue
                    if time.monotonic() >= end or self.comparison.ended:
                        return self.comparison
                    self.pair.deadline = end
                    self.one(group, number)
                    self.progress(self.comparison)
        finally:
            for target in (self.pair.first, self.pair.second):
                clean(target, self.pair.uniques, time.monotonic() + CLEANING_S)
        return self.comparison

    def one(self, group: str, number: int) -> None:
        """Perform a history. If its difference is the first of its kind, report it."""
        comparison, name = self.comparison, f"{group}_{self.comparison.seed}_{number}"
        self.pair.needs = {"brokers": len(self.pair.first.nodes)} if GROUPS[group].brokers > 1 else {}
        try:
            made = history(group, comparison.seed, number, self.release, self.versions, sorted(self.pair.first.nodes))
            steps = list(fitted(made.steps, self.versions))
            found = self.pair.first_difference(steps)
        except OutOfTime:
            comparison.not_performed[f"{group}: the time was over"] += 1
            return
        except OSError as error:
            comparison.ended = f"{name}: {description(error)}"
            return
        except NotServed as error:
            comparison.not_performed[f"{group}: the brokers do not both serve {error}"] += 1
            return
        except UNUSABLE as error:
            comparison.not_performed[f"{group}: {type(error).__name__}: {description(error)}"] += 1
            return
        finally:
            comparison.histories[group] += 1
        if found is None:
            return
        kind = found.kind(steps)
        comparison.kinds[kind] += 1
        if comparison.kinds[kind] == 1:
            self._report(f"found_{name}", steps[: found.index + 1], found, kind)

    def _report(self, name: str, steps: list[Step], found: Found, kind: tuple[Any, ...]) -> None:
        self.pair.deadline = time.monotonic() + REPORT_S
        steps = Shrinker(self.pair, kind).shrunk(steps)
        try:
            again = self.pair.first_difference(steps)
            transcript = Transcript(name, self.pair.needs, {self.release: self.pair.record(steps)})
        except UNUSABLE as error:
            reason = f"the difference was not written: {description(error)}"
            self.comparison.not_performed[f"{name}: {'; '.join(map(str, found.differences[:1]))}; {reason}"] += 1
            return
        file = self.out / f"{name}.json"
        self.write(transcript, file)
        replayed = replay(transcript, self.release, self.pair.first, self.pair.deadline)
        steady = all(case.outcome is Outcome.AS_KAFKA for case in replayed)
        differences = tuple((again or found).differences)
        disagreement = Disagreement(name, steps, differences, bool(again and steady), file)
        self.comparison.disagreements.append(disagreement)
        self.found(disagreement)

    def write(self, transcript: Transcript, file: Path) -> None:
        """Write a scenario. Raises NotWritten."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            write_file(transcript, file)
        except OSError as error:
            raise NotWritten(f"{file}: {error.strerror or error}") from error
