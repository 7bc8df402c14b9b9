"""Judge a broker: perform recorded scenarios and collect the results.

Scenarios run in parallel. Those that observe or change the whole cluster run alone, after all others. Scenarios that
differed while others ran are repeated alone, and only the responses of the repetition count. The run has a limit, which
is announced before the first scenario: each receive ends at this limit at the latest, and scenarios that were not
performed by then are NOT_RUN. A broker that no longer accepts connections ends the run. What scenarios created is
removed at the end.
"""

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from kafkalet.client_security import PLAINTEXT, Security
from kafkalet.protocol.api import Api
from kafkalet.version import VERSION
from kafkalet_conformance.catalog import LEVELS, Level, Scenario, select
from kafkalet_conformance.playing.connection import Closed, Garbage, NoAnswer, OutOfTime
from kafkalet_conformance.playing.control import Control
from kafkalet_conformance.playing.player import Player
from kafkalet_conformance.playing.serving import serves, unserved
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.reports.bounding import bounded
from kafkalet_conformance.results import BAD, LEFT_OUT, CaseResult, Outcome, Run, ScenarioResult, together
from kafkalet_conformance.transcripts import Damaged, Transcript, load, read_file

from .cleaning import clean
from .configuration import Configuration, configuration, has_quotas
from .nearest import nearest, recorded_releases
from .repetition import Attempt, combined
from .replaying import description, replay
from .scope import Scope

NEAREST = "nearest"
LEGACY = "2.8"
"""The recorded release that can store message formats 0 and 1."""
JOBS = 8
REPEAT = 2
SCENARIO_S = 90.0
"""The limit for all attempts at a scenario together."""
FIRST_S, EACH_S = 120.0, 2.0
"""The limit for a run is FIRST_S and EACH_S for each scenario, unless another limit is given."""
CLEANING_S = 15.0
SHARE_ALONE = 0.5
"""The fraction of the remaining time for repeating scenarios that differed, alone."""
PROBE_S = 5.0
SECURITY_HINT = "; it may expect TLS (--tls) or SASL (--sasl)"
PROBES, PROBE_PAUSE_S = 3, 0.5
WITHOUT_LOGIN = {
    *("SaslHandshake", "SaslAuthenticate", "DescribeAcls", "CreateAcls", "DeleteAcls"),
    *("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
}
"""APIs whose responses depend on whether the connection is authenticated."""
THROTTLED = "quotas apply to the judge, so that throttle_time_ms is not compared"
TITLES = {api.title for api in Api}


class CannotJudge(Exception):
    """The run is impossible. The message says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to judge, and how. `against` is a recorded release or `nearest`; `only` to `levels` are the arguments of
    `select`.

    A scenario that differs is performed `repeat` more times. `disposable` allows scenarios that change the
    configuration of the whole cluster. `timeout_s` limits the run; the default depends on the number of scenarios.
    With `acl`, the broker meets the need `acl`, and only scenarios with this need run. With `control`, a command that
    stops and starts brokers, only the scenarios with faults run.
    """

    bootstrap: str
    against: str = NEAREST
    only: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()
    levels: tuple[Level, ...] = LEVELS
    jobs: int = JOBS
    repeat: int = REPEAT
    timeout_s: float | None = None
    disposable: bool = False
    acl: bool = False
    control: tuple[str, ...] = ()
    file: Path | None = None
    """A file with a scenario, written by `conform --between`, to perform instead of recorded ones."""
    security: Security = PLAINTEXT


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is known before the first scenario.

    `run` has no results yet; an interrupted run can be reported with it. `scenarios` is the number of scenarios, and
    `limit_s` the number of seconds after which the run has ended.
    """

    run: Run
    scenarios: int
    limit_s: float


Progress = Callable[[ScenarioResult], None]
"""Called with each result as soon as it is known."""


def judge(
    options: Options,
    progress: Progress = lambda _: None,
    announce: Callable[[Announcement], None] = lambda _: None,
) -> Run:
    """Perform the selected scenarios against the broker, and return the results.

    Raises CannotJudge if the broker cannot be reached or no scenario is selected.
    """
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    target = reach(options)
    given = read_scenario(options.file) if options.file else None
    release = given.release if given else chosen_release(options.against, target)
    target.legacy = release == LEGACY
    if options.control:
        target.brokers = Control(options.control, f"{target.host}:{target.port}")
    wanted = [given.scenario] if given else selected(options, release)
    if not wanted:
        raise CannotJudge(f"no scenario of release {release} matches the given conditions")
    each_s = SCENARIO_S if options.control else EACH_S
    limit_s = FIRST_S + each_s * len(wanted) if options.timeout_s is None else options.timeout_s
    titles = {int(api): api.title for api in Api}
    run = Run(
        bootstrap=options.bootstrap,
        against=release,
        kafkalet_version=VERSION,
        started=started,
        duration_s=0,
        brokers=len(target.nodes),
        served={titles[key]: versions for key, versions in target.versions.items() if key in titles},
        options=told(options),
    )
    announce(Announcement(run, len(wanted), limit_s))
    transcript_of = (lambda name: given.transcript) if given else load
    judging = Judging(target, release, options, began + limit_s, transcript_of)
    try:
        results = judging.perform(wanted, progress)
    finally:
        left = clean(target, judging.uniques, min(began + limit_s, time.monotonic() + CLEANING_S))
    duration_s = time.monotonic() - began
    remarks = (*judging.configuration.notes(), *([THROTTLED] if target.has_quotas else []), *left)
    return replace(run, duration_s=duration_s, notes=remarks, results=tuple(results))


def told(options: Options) -> dict[str, str]:
    """Return the options that differ from their defaults, as text, without passwords and keys."""
    found = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in ("bootstrap", "security") or value == field.default:
            continue
        match value:
            case tuple():
                found[field.name] = ",".join(map(str, value))
            case bool():
                found[field.name] = ""
            case _:
                found[field.name] = str(value)
    if credentials := options.security.credentials:
        found["mechanism"] = credentials.mechanism
    return found


def selected(options: Options, release: str) -> list[Scenario]:
    """Return the recorded scenarios that match the options. Raises CannotJudge for unknown names."""
    try:
        found = select(release=release, only=options.only, apis=options.apis, kips=options.kips, levels=options.levels)
    except ValueError as error:
        raise CannotJudge(str(error)) from error
    return [each for each in found if "faults" in each.needs] if options.control else found


@dataclass(frozen=True, slots=True)
class Given:
    """A scenario from a file."""

    scenario: Scenario
    transcript: Transcript
    release: str


def read_scenario(path: Path) -> Given:
    """Read a scenario that `conform --between` wrote. Raises CannotJudge if the file has none."""
    try:
        transcript = read_file(path)
    except (OSError, Damaged) as error:
        raise CannotJudge(f"the scenario in {path} cannot be read: {error}") from error
    if not transcript.steps:
        raise CannotJudge(f"the scenario in {path} has no steps")
    release, steps = next(iter(transcript.steps.items()))
    scenario = Scenario(
        name=transcript.name,
        area="from_a_file",
        claim="The broker gives the responses in the file.",
        level="detail",
        sources=(str(path),),
        releases=(release,),
        needs=transcript.needs,
        apis=transcript.versions(),
        cases=sum("case" in step for step in steps),
    )
    return Given(scenario, transcript, release)


def reach(options: Options) -> Target:
    """Connect to the broker. Raises CannotJudge if it does not respond."""
    limit_s = min(CLEANING_S, options.timeout_s or math.inf)
    try:
        return Target(options.bootstrap, options.acl, deadline=time.monotonic() + limit_s, security=options.security)
    except OutOfTime as error:
        what = f"the broker did not respond within {limit_s:g} s"
        raise CannotJudge(f"the broker at {options.bootstrap} cannot be judged: {what}{SECURITY_HINT}") from error
    except (OSError, Closed, NoAnswer, ValueError, LookupError, TypeError) as error:
        hint = "" if not isinstance(error, Closed | NoAnswer) else SECURITY_HINT
        raise CannotJudge(f"the broker at {options.bootstrap} cannot be judged: {description(error)}{hint}") from error


def chosen_release(against: str, target: Target) -> str:
    if against == NEAREST:
        return nearest(target.versions)
    if against not in recorded_releases():
        recorded = ", ".join([NEAREST, *recorded_releases()])
        raise CannotJudge(f"there are no recorded responses of release {against}; choose one of {recorded}")
    return against


class Judging:
    """One run: its limit, the scenarios in progress, and whether the broker still responses."""

    def __init__(
        self,
        target: Target,
        release: str,
        options: Options,
        deadline: float,
        transcript_of: Callable[[str], Transcript] = load,
    ) -> None:
        self.target, self.release, self.options = target, release, options
        self.transcript_of = transcript_of
        self.ends_at = deadline
        self.deadline = deadline - min(CLEANING_S, (deadline - time.monotonic()) / 4)
        """The time at which scenarios end; the rest of the limit is for cleaning up."""
        self.ended = ""
        """Why no more scenarios are performed; "" as long as they are."""
        probed_until = min(self.deadline, time.monotonic() + PROBE_S)
        # A scenario in a file was recorded with a broker whose configuration is unknown, and those with faults with
        # short time-outs, which other brokers need not have.
        is_known = not (options.file or options.control)
        self.configuration = configuration(target, probed_until) if is_known else Configuration()
        target.has_quotas = has_quotas(target, probed_until)
        self.uniques: set[str] = set()
        """The unique parts of all names that scenarios created."""
        self.players: set[Player] = set()
        self.lock, self.probing = threading.Lock(), threading.Lock()
        self.stopped = threading.Event()

    def perform(self, wanted: list[Scenario], progress: Progress) -> list[ScenarioResult]:
        """Perform the scenarios and return their results in the same order."""
        scopes = {each.name: Scope(each.scopes.get(self.release, Scope.OWN)) for each in wanted}
        results: dict[str, ScenarioResult] = {}

        def run(each: Scenario, is_alone: bool) -> ScenarioResult:
            return self.performed(each, scopes[each.name], is_alone)

        def keep(result: ScenarioResult) -> None:
            results[result.scenario.name] = result
            progress(result)

        pool = ThreadPoolExecutor(max(self.options.jobs, 1), "scenario")
        try:
            together = [each for each in wanted if scopes[each.name] is Scope.OWN]
            is_alone = self.options.jobs == 1 or len(together) == 1
            futures: Iterable[Future[ScenarioResult]] = [pool.submit(run, each, is_alone) for each in together]
            differed: dict[str, ScenarioResult] = {}
            for future in as_completed(futures):
                result = future.result()
                if result.outcome is Outcome.DIFFERS and not is_alone:
                    differed[result.scenario.name] = result
                else:
                    keep(result)
            until = time.monotonic() + (self.deadline - time.monotonic()) * SHARE_ALONE
            for each in wanted:
                in_time = time.monotonic() < until and not self.ended
                if each.name in differed and not in_time:
                    keep(differed[each.name])
                elif each.name in differed or scopes[each.name] is not Scope.OWN:
                    keep(run(each, True))
        except BaseException:
            self.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return [results[each.name] for each in wanted]

    def stop(self) -> None:
        """End all scenarios in progress."""
        self.ended = self.ended or "the run was stopped"
        self.stopped.set()
        with self.lock:
            for player in self.players:
                player.interrupt()

    def performed(self, scenario: Scenario, reach: Scope, is_alone: bool) -> ScenarioResult:
        """Perform a scenario if it can run, and return its result."""
        if reason := self.ended:
            return ScenarioResult(scenario, Outcome.NOT_RUN, reason)
        if time.monotonic() >= self.deadline:
            return ScenarioResult(scenario, Outcome.NOT_RUN, "the time for the run is over")
        for api, version in scenario.needs.items():
            if api in TITLES and not serves(self.target.versions, api, version):
                return ScenarioResult(scenario, Outcome.NOT_SERVED, unserved(self.target.versions, api, version))
        if lacking := self.target.lacks(scenario.needs):
            return ScenarioResult(scenario, Outcome.NOT_RUN, f"needs {lacking}")
        transcript = self.transcript_of(scenario.name)
        if reason := self.configuration.obstacle(scenario, transcript.steps[self.release]):
            return ScenarioResult(scenario, Outcome.NOT_RUN, reason)
        if self.options.security.credentials and any(api in WITHOUT_LOGIN for api in scenario.apis):
            return ScenarioResult(scenario, Outcome.NOT_RUN, "recorded on connections without authentication")
        if reach is Scope.CHANGES and not self.options.disposable:
            reason = "changes the configuration of the whole cluster; allow it with --disposable"
            return ScenarioResult(scenario, Outcome.NOT_RUN, reason)
        return self.repeated(scenario, transcript, is_alone)

    def repeated(self, scenario: Scenario, transcript: Transcript, is_alone: bool) -> ScenarioResult:
        """Perform a scenario; if the result is not as recorded, perform it again. A scenario that merely differs is
        repeated later, alone.
        """
        began = time.monotonic()
        deadline = min(self.deadline, began + SCENARIO_S)
        attempts = [self.attempt(transcript, deadline)]
        repeated = BAD if is_alone else {Outcome.FAILED}
        while any(case.outcome in repeated for case in attempts[0].cases) and len(attempts) <= self.options.repeat:
            if any(case.outcome is Outcome.FAILED for case in attempts[-1].cases):
                self.probe()
            if self.ended or time.monotonic() >= deadline or self.was_slow(began, len(attempts)):
                break
            attempts.append(self.attempt(transcript, deadline))
        cases = combined(attempts)
        outcome = together(case.outcome for case in cases)
        reason, duration_s = reason_of(outcome, cases), time.monotonic() - began
        return bounded(ScenarioResult(scenario, outcome, reason, cases, duration_s))

    def was_slow(self, began: float, attempts: int) -> bool:
        """Return whether another attempt would take too much of the time for the run."""
        each_s = (time.monotonic() - began) / attempts
        return each_s > EACH_S * self.options.jobs

    def attempt(self, transcript: Transcript, deadline: float) -> Attempt:
        player = Player(self.target, os.urandom(4).hex(), deadline)
        with self.lock:
            self.players.add(player)
        try:
            cases = replay(transcript, self.release, self.target, deadline, player, self.configuration)
            return Attempt(tuple(cases), player)
        finally:
            with self.lock:
                self.players.discard(player)
                self.uniques |= player.uniques

    def probe(self) -> None:
        """End the run if the broker no longer responses."""
        with self.probing:
            reason = ""
            for _ in range(PROBES):
                if self.ended or time.monotonic() >= self.deadline:
                    return
                deadline = min(self.deadline, time.monotonic() + PROBE_S)
                try:
                    connection = self.target.connect(deadline=deadline)
                    try:
                        connection.ask("ApiVersions", 0, {})
                        return
                    finally:
                        connection.close()
                except (OSError, Closed, NoAnswer, OutOfTime, Garbage) as error:
                    reason = description(error)
                self.stopped.wait(PROBE_PAUSE_S)
            self.ended = f"the broker no longer responds to ApiVersions: {reason}"


def reason_of(outcome: Outcome, cases: Sequence[CaseResult]) -> str:
    """Return the reason for the outcome of a scenario: that of its first case with this outcome."""
    if outcome is Outcome.AS_KAFKA:
        return left_out(cases)
    return "" if outcome is Outcome.DIFFERS else next(case.reason for case in cases if case.outcome is outcome)


def left_out(cases: Sequence[CaseResult]) -> str:
    """Say how many cases were not compared, such as `2 of 9 cases not served`; "" if all were."""
    found = Counter(case.outcome for case in cases)
    parts = [f"{found[outcome]} of {len(cases)} cases {outcome}" for outcome in LEFT_OUT if found[outcome]]
    return ", ".join(parts)
