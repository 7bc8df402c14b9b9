"""Slow requests get the same responses as any others.

The transcripts about records are replayed against a broker that treats every request as slow: it decodes and encodes
every request in a thread, validates, searches and converts every batch in a thread, and its handlers yield at every
opportunity.
"""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.apis import fetch, fetch_conversion, produce
from kafkalet.broker.network import router
from kafkalet.storage import log, lookup
from kafkalet.tasks import turns
from kafkalet_conformance.catalog import Scenario, scenarios
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import load
from tools.recording.recorded_properties import broker_properties

from .test_golden import wrong

AREAS = {
    *("fetch", "fetch_limits", "idempotence", "list_offsets", "list_offsets_timestamps", "malformed_requests"),
    *("old_formats", "produce", "read_committed"),
}
SMALLEST_BATCH_BYTES = 61


def waits_ms(name: str, release: str) -> int:
    """Return the total maximum wait time of the fetches in a transcript, in milliseconds."""
    bodies = [step.get("body", {}) for step in load(name).steps[release]]
    return sum(wait for body in bodies if isinstance(wait := body.get("max_wait_ms", 0), int))


ALL = [
    pytest.param(release, scenario, id=f"{release}-{scenario.name}")
    for release in ("2.8", "3.9")
    for scenario in scenarios().values()
    if release in scenario.releases and scenario.area in AREAS and waits_ms(scenario.name, release) < 1000
]


@pytest.fixture(scope="module")
def targets() -> Iterator[dict[str, Target]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "SLICE_S", 0.0)
        patch.setattr(router, "DECODED_AT_ONCE", 0)
        patch.setattr(router, "PRODUCE_DECODED_AT_ONCE", 0)
        patch.setattr(produce, "PARTITIONS_WITHOUT_PAUSE", -1)
        patch.setattr(produce, "is_usual_batch", lambda records, version: False)
        patch.setattr(produce, "may_take_long", lambda records: len(records) >= SMALLEST_BATCH_BYTES)
        patch.setattr(log, "may_be_quick", lambda records: False)
        patch.setattr(fetch, "PARTITIONS_WITHOUT_PAUSE", -1)
        patch.setattr(fetch_conversion, "CONVERTED_IN_LOOP_BYTES", -1)
        patch.setattr(fetch_conversion, "READ_BYTES", 100)
        patch.setattr(lookup, "batch_takes_long", lambda batch: True)
        started: dict[str, Target] = {}
        clusters = [
            (release, kafkalet.Cluster(version=release, config=broker_properties(release)))
            for release in ("2.8", "3.9")
        ]
        for release, cluster in clusters:
            cluster.__enter__()
            started[release] = Target(cluster.bootstrap_servers, legacy=release == "2.8")
        yield started
        for _, cluster in clusters:
            cluster.__exit__(None, None, None)


@pytest.mark.parametrize(("release", "scenario"), ALL)
def test_slow_requests_get_recorded_responses(release: str, scenario: Scenario, targets: dict[str, Target]) -> None:
    assert wrong(replay(load(scenario.name), release, targets[release])) == []


def test_every_listed_area_has_transcripts() -> None:
    assert {param.values[1].area for param in ALL} == AREAS
