"""Judge a broker: perform recorded scenarios and collect the results."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from kafkalet.conformance.catalogue import LEVELS, Level, Scenario, scenarios, select
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.results import ORDER, Outcome, Run, ScenarioResult
from kafkalet.conformance.transcripts import load
from kafkalet.protocol.api import Api
from kafkalet.version import VERSION

from .replaying import replay

NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class Options:
    """What to judge. `against` is a recorded release or `nearest`; the other options are those of `select`."""

    bootstrap: str
    against: str = NEAREST
    only: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()
    levels: tuple[Level, ...] = LEVELS


Progress = Callable[[ScenarioResult], None]
"""Called with each result as soon as it is known."""


def judge(options: Options, progress: Progress = lambda _: None) -> Run:
    """Perform the selected scenarios against the broker, and return the results."""
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    target = Target(options.bootstrap)
    release = nearest(target) if options.against == NEAREST else options.against
    wanted = select(release=release, only=options.only, apis=options.apis, kips=options.kips, levels=options.levels)
    results = []
    for scenario in wanted:
        result = perform(scenario, release, target)
        progress(result)
        results.append(result)
    titles = {int(api): api.title for api in Api}
    return Run(
        bootstrap=options.bootstrap,
        against=release,
        kafkalet_version=VERSION,
        started=started,
        duration_s=time.monotonic() - began,
        brokers=len(target.nodes),
        served={titles[key]: versions for key, versions in target.versions.items() if key in titles},
        results=tuple(results),
    )


def recorded_releases() -> list[str]:
    """Return the releases that have recorded answers, the oldest first."""
    releases = {release for each in scenarios().values() for release in each.releases}
    return sorted(releases, key=lambda release: [int(number) for number in release.split(".")])


def nearest(target: Target) -> str:
    """Return the recorded release whose advertised versions are most like those of the broker."""
    return recorded_releases()[-1]


def perform(scenario: Scenario, release: str, target: Target) -> ScenarioResult:
    """Perform one scenario."""
    if lacking := target.lacks(scenario.needs):
        return ScenarioResult(scenario, Outcome.NOT_RUN, f"needs {lacking}")
    began = time.monotonic()
    cases = replay(load(scenario.name), release, target)
    outcome = next(worst for worst in ORDER if any(case.outcome is worst for case in cases))
    return ScenarioResult(scenario, outcome, "", tuple(cases), time.monotonic() - began)
