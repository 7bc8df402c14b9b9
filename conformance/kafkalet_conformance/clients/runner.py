"""Runs scenarios against a client, each with its own brokers, several at a time."""

import contextvars
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafkalet.clock import elapsed_s
from kafkalet.testing.cluster import Cluster
from kafkalet.units import counted
from kafkalet.version import VERSION

from .observing.finding import Finding as Observed
from .observing.finding import Severity
from .observing.observation import Observation, observe
from .results import ClientResult, ClientRun, Finding, Verdict, severity, worst
from .scenario import Scenario
from .stage import NO_LIBRARY, NOT_SUPPORTED, Stage

KAFKA_VERSION = "4.4"
TIMEOUT_S = 30.0
JOBS = 2
REQUESTS = 60
"""How many requests a result keeps."""
LOG_LINES = 60
HURRIED = ("retried-too-fast", "throttle-time")
"""The rules of the observer that are about the time between requests."""
VIOLATIONS = 5
"""The maximum number of requests in the evidence of a violation."""
_PROPERTIES: Mapping[str, str | int | bool] = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "auto.create.topics.enable": False,
    "offsets.topic.num.partitions": 5,
    "transaction.state.log.num.partitions": 5,
}
"""Properties of the brokers that make scenarios faster."""


class NotStarted(Exception):
    """The command cannot be started. The message says why."""


class Options(NamedTuple):
    """How scenarios are run."""

    command: Sequence[str]
    environment: Mapping[str, str]
    """The environment that the command inherits."""
    timeout_s: float = TIMEOUT_S
    """The time limit of the command in each scenario."""
    jobs: int = JOBS
    kafka_version: str = KAFKA_VERSION
    directory: str | None = None
    """The directory in which the command is started; None for the current one."""


class Runner:
    """Runs scenarios. `stop` may be called in any thread; it kills the commands."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._stages: set[Stage] = set()
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(self, scenarios: Sequence[Scenario], done: Callable[[ClientResult], object]) -> ClientRun:
        """Run the scenarios; `done` is called with each result, in this thread. Results keep the order of scenarios.

        Raises NotStarted if the command cannot be started.
        """
        options = self._options
        run = ClientRun(
            list(options.command), options.kafka_version, VERSION, datetime.now(UTC).isoformat(" ", "seconds")
        )
        began_s = elapsed_s()
        results: dict[str, ClientResult] = {}
        with ThreadPoolExecutor(options.jobs, "scenario") as pool:
            futures = {
                pool.submit(contextvars.copy_context().run, self.run_one, scenario): scenario for scenario in scenarios
            }
            try:
                for future in _as_completed(futures):
                    result = future.result()
                    results[result.scenario] = result
                    done(result)
            except BaseException:
                self.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        run.results = [results[scenario.name] for scenario in scenarios]
        run.duration_s = elapsed_s() - began_s
        return run

    def stop(self) -> None:
        """End all scenarios now."""
        with self._lock:
            self._is_stopped = True
            stages = list(self._stages)
        for stage in stages:
            stage.abort()

    def run_one(self, scenario: Scenario) -> ClientResult:
        """Run one scenario in this thread. Raises NotStarted."""
        options = self._options
        cluster = Cluster(
            scenario.brokers,
            config={**_PROPERTIES, **_replicated(scenario), **scenario.config},
            version=scenario.kafka_version or options.kafka_version,
        )
        with cluster, observe(cluster) as observation:
            cluster._server.call(partial(_create_state_topics, cluster, scenario))
            stage = Stage(scenario, cluster, options.command, options.environment, options.timeout_s, options.directory)
            with self._lock:
                self._stages.add(stage)
                is_stopped = self._is_stopped
            try:
                return _not_run(stage, "the run was stopped") if is_stopped else _judged(stage, observation)
            finally:
                with self._lock:
                    self._stages.discard(stage)


def _replicated(scenario: Scenario) -> Mapping[str, str | int | bool]:
    """Return the properties that give internal topics a replica on every broker, so that coordinators can move."""
    if scenario.brokers == 1:
        return {}
    return {
        "offsets.topic.replication.factor": scenario.brokers,
        "transaction.state.log.replication.factor": scenario.brokers,
        "transaction.state.log.min.isr": 1,
    }


def _create_state_topics(cluster: Cluster, scenario: Scenario) -> None:
    """Create the internal topics that the client needs, so that its first FindCoordinator does not take longer than
    later ones.

    Called in the event loop of the brokers.
    """
    controller = cluster._server.controller
    if scenario.group is not None:
        controller.state_topic(CONSUMER_OFFSETS)
    if scenario.transactional_id is not None:
        controller.state_topic(TRANSACTION_STATE)


def _as_completed(futures: Iterable[Future[ClientResult]]) -> Iterable[Future[ClientResult]]:
    left = set(futures)
    while left:
        finished, left = wait(left, 0.5, FIRST_COMPLETED)  # with a timeout, so that Ctrl-C is noticed
        yield from finished


def _judged(stage: Stage, observation: Observation) -> ClientResult:
    """Play a scenario, and judge the client."""
    try:
        stage.play()
    except OSError as error:
        if not stage.is_started:
            raise NotStarted(f"{stage.words[0]}: {error.strerror or error}") from error
        return _result(stage, [_broken()])
    except Exception:  # noqa: BLE001 - a mistake in a scenario must not end the run
        return _result(stage, [_broken()])
    if not stage.is_started:
        return _not_run(stage, "the run was stopped")
    if stage.status == NOT_SUPPORTED:
        return _not_run(stage, f"the command does not support this (exit status {NOT_SUPPORTED})")
    if stage.status == NO_LIBRARY:
        return _not_run(stage, f"the client is not installed (exit status {NO_LIBRARY})")
    try:
        findings = [*stage.scenario.judge(stage)]
        observed = [*_violations(observation)]
    except Exception:  # noqa: BLE001
        return _result(stage, [_broken()])
    missed = _missed(stage)
    if missed and not observed and all(finding.verdict.is_right for finding in findings):
        return _result(stage, [Finding(Verdict.NOT_RUN, missed[0], tuple(missed[1:]))])
    result = _result(stage, findings + observed)
    result.notes = [*_notes(observation)]
    return result


def _violations(observation: Observation) -> Iterator[Finding]:
    """Return a finding for each rule of the protocol that the client has broken."""
    by_rule: dict[str, list[Observed]] = {}
    for each in observation.violations():
        by_rule.setdefault(each.rule, []).append(each)
    for rule, found in by_rule.items():
        times = observation.found[rule, Severity.VIOLATION]
        verdict = Verdict.TOO_FAST if rule in HURRIED else Verdict.VIOLATED
        text = f"{counted(times, 'request')} against the rule {rule}: {found[0].claim} ({found[0].source})"
        yield Finding(verdict, text, tuple(map(str, found[:VIOLATIONS])))


def _notes(observation: Observation) -> Iterator[str]:
    """Yield the first unusual request of each kind. Such requests are allowed."""
    seen: set[str] = set()
    for each in observation.findings():
        if each.severity is Severity.NOTE and each.rule not in seen:
            seen.add(each.rule)
            yield str(each)


def _missed(stage: Stage) -> list[str]:
    """Return the reason why the scenario could not take place, in one line, and the details; both are empty if
    it did.
    """
    lines = [] if stage.missed is None else stage.missed.splitlines()
    for fault in stage.cluster.faults:
        if not fault.fired:
            api = fault.options["api"]
            named = api if isinstance(api, str) else " or ".join(api or ())
            lines.append(f"the client sent no {named} request of the kind that the scenario is about")
            lines += (fault.unfired() or "").splitlines()[1:]
    return lines


def _broken() -> Finding:
    lines = traceback.format_exc().splitlines()
    return Finding(Verdict.FAILED, f"the scenario failed: {lines[-1]}", tuple(lines[-12:-1]))


def _not_run(stage: Stage, why: str) -> ClientResult:
    return _result(stage, [Finding(Verdict.NOT_RUN, why)])


def _result(stage: Stage, findings: list[Finding]) -> ClientResult:
    scenario = stage.scenario
    verdict = worst([finding.verdict for finding in findings])
    result = ClientResult(
        scenario.name,
        scenario.claim,
        scenario.sources,
        str(scenario.role),
        verdict,
        sorted(findings, key=lambda finding: severity(finding.verdict)),
        duration_s=stage.duration_s,
        exit_status=stage.status,
    )
    if stage.command is not None:
        result.settings = {**stage.environment}
        result.log = list(stage.command.log)[-LOG_LINES:]
    if not verdict.is_right:
        result.requests = [request.text for request in stage.cluster.requests.last(REQUESTS)]
    return result
