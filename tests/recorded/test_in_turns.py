"""Slow requests are answered like any others.

The transcripts about records are replayed against a broker that treats every request as slow: it decodes and encodes
every request in a thread, validates, searches and converts every batch in a thread, and its handlers yield at every
opportunity.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.apis import fetch, fetch_conversion, list_offsets, produce
from kafkalet.broker.network import router
from kafkalet.broker.scheduling import turns
from kafkalet.storage import lookup

from .replay import broker_config, head, load, replay, transcripts
from .scenario import Server

GROUPS = {
    *("downconversion", "fetch_limits", "fetch_topic_ids", "legacy_formats", "list_offsets", "list_offsets_state"),
    *("list_offsets_time", "list_offsets_v0", "malformed", "produce", "transactions"),
}
SMALLEST_BATCH_BYTES = 61


def waits_ms(path: Path) -> int:
    """Return the total maximum wait time of the fetches in a transcript, in milliseconds."""
    bodies = [step.get("body", {}) for step in load(path)["steps"]]
    return sum(wait for body in bodies if isinstance(wait := body.get("max_wait_ms", 0), int))


ALL = [
    pytest.param(release, path, id=f"{release}-{path.stem}")
    for release in ("2.8", "3.9")
    for path in transcripts(release)
    if head(path)["group"] in GROUPS and waits_ms(path) < 1000
]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "SLICE_S", 0.0)
        patch.setattr(router, "DECODED_AT_ONCE", 0)
        patch.setattr(router, "PRODUCE_DECODED_AT_ONCE", 0)
        patch.setattr(produce, "PARTITIONS_WITHOUT_PAUSE", -1)
        patch.setattr(produce, "takes_long", lambda records: len(records) >= SMALLEST_BATCH_BYTES)
        patch.setattr(fetch, "PARTITIONS_WITHOUT_PAUSE", -1)
        patch.setattr(fetch_conversion, "CONVERTED_IN_LOOP_BYTES", -1)
        patch.setattr(fetch_conversion, "READ_BYTES", 100)
        patch.setattr(list_offsets, "PARTITIONS_WITHOUT_PAUSE", -1)
        patch.setattr(lookup, "batch_takes_long", lambda batch: True)
        started: dict[str, Server] = {}
        clusters = [
            (release, kafkalet.Cluster(kafka_version=release, config=broker_config(release)))
            for release in ("2.8", "3.9")
        ]
        for release, cluster in clusters:
            cluster.__enter__()
            started[release] = Server(cluster.bootstrap_servers, legacy=release == "2.8")
        yield started
        for _, cluster in clusters:
            cluster.__exit__(None, None, None)


@pytest.mark.parametrize(("release", "path"), ALL)
def test_slow_requests_get_recorded_answers(release: str, path: Path, servers: dict[str, Server]) -> None:
    failed = [str(case) for case in replay(load(path), servers[release]) if case.problems]
    assert not failed, "\n".join(failed)


def test_every_listed_group_has_transcripts() -> None:
    assert {head(param.values[1])["group"] for param in ALL} == GROUPS
