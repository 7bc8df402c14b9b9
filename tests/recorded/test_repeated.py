"""A repeated request gets the same response, whether or not the broker decodes it (broker/repetitions.py).

The transcripts about reading are replayed against a broker that serves each Fetch and ListOffsets request three times:
the third time, a request of one partition may be answered from a plan. The first response goes to the client.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet import clock
from kafkalet.broker.context import Context
from kafkalet.broker.network.router import Router
from kafkalet.broker.repetitions import Repetitions
from kafkalet.protocol.api import Api
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange
from kafkalet_conformance.catalog import Scenario, scenarios
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import load
from tools.recording.recorded_properties import broker_properties

from .test_golden import wrong
from .test_in_turns import waits_ms

RELEASES = ("3.9", "4.4")
AREAS = {"fetch", "fetch_limits", "list_offsets", "list_offsets_timestamps", "read_committed"}

ALL = [
    pytest.param(release, scenario, id=f"{release}-{scenario.name}")
    for release in RELEASES
    for scenario in scenarios().values()
    if release in scenario.releases and scenario.area in AREAS and waits_ms(scenario.name, release) < 1000
]


class Thrice:
    """Lets routers serve requests three times. `planned` counts the responses from plans."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.planned = 0
        self.different: list[tuple[Api, bytes]] = []
        serve, answer = Router._serve, Repetitions.answer

        def served(router: Router, frame: bytearray, context: Context, out: list[Chunk]) -> Any:
            request = bytes(frame)
            start = len(out)
            size = serve(router, frame, context, out)
            if isinstance(size, int) and size and changes_nothing(router, request, context):
                for _ in range(2):
                    again: list[Chunk] = []
                    answered = serve(router, request, context, again)
                    # On a busy machine, a request may be answered in a later turn.
                    if isinstance(answered, int) and joined(again) != joined(out[start:]):
                        self.different.append((context.api, request))
            return size

        def counted(known: Repetitions[Context], *arguments: Any) -> int | None:
            size = answer(known, *arguments)
            self.planned += size is not None
            return size

        patch.setattr(Router, "_serve", served)
        patch.setattr(Repetitions, "answer", counted)


def changes_nothing(router: Router, frame: bytes, context: Context) -> bool:
    """Return whether a request, which has been served, is a ListOffsets, or a Fetch of a consumer without a session."""
    if context.api is Api.LIST_OFFSETS:
        return True
    if context.api is not Api.FETCH:
        return False
    route, start = router._read_header(frame, context)
    request = route.decode(frame, route.version, start)
    return request.replica_id == -1 and (route.version < 7 or (request.session_id, request.session_epoch) == (0, -1))


def joined(chunks: list[Chunk]) -> bytes:
    return b"".join(chunk.read() if isinstance(chunk, FileRange) else chunk for chunk in chunks)


def let_time_pass(patch: pytest.MonkeyPatch) -> None:
    """Let a millisecond pass whenever a broker asks for the time: markers of Apache Kafka never have the same one."""
    last_ns = 0

    def next_ns() -> int:
        nonlocal last_ns
        last_ns = max(time.time_ns(), last_ns + 1_000_000)
        return last_ns

    patch.setattr(clock, "time_ns", next_ns)


@pytest.fixture(scope="module")
def thrice() -> Iterator[Thrice]:
    with pytest.MonkeyPatch.context() as patch:
        let_time_pass(patch)
        yield Thrice(patch)


@pytest.fixture(scope="module")
def targets(thrice: Thrice) -> Iterator[dict[str, Target]]:
    clusters = {release: kafkalet.Cluster(version=release, config=broker_properties(release)) for release in RELEASES}
    for cluster in clusters.values():
        cluster.__enter__()
    yield {release: Target(cluster.bootstrap_servers) for release, cluster in clusters.items()}
    for cluster in clusters.values():
        cluster.__exit__(None, None, None)


@pytest.mark.parametrize(("release", "scenario"), ALL)
def test_repeated_requests_get_the_recorded_response(
    release: str, scenario: Scenario, targets: dict[str, Target], thrice: Thrice
) -> None:
    thrice.different.clear()
    assert wrong(replay(load(scenario.name), release, targets[release])) == []
    assert thrice.different == []


@pytest.mark.parametrize("name", ["fetch_every_version", "lo_every_version"])
@pytest.mark.parametrize("release", RELEASES)
def test_repeated_requests_are_served_from_plans(
    release: str, name: str, targets: dict[str, Target], thrice: Thrice
) -> None:
    before = thrice.planned
    replay(load(name), release, targets[release])
    assert thrice.planned > before
