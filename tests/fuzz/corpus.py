"""The initial frames: each request of the transcripts in several versions, and an empty request of each API.

Values that transcripts bind from responses are not known here: topics become those of the campaign, numbers become 1.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.frame import RequestHeader
from kafkalet_conformance.notation import messages
from kafkalet_conformance.playing.matching import resolve
from kafkalet_conformance.transcripts import load, names

TOPICS = ("fuzz-0", "fuzz-1", "fuzz-2")
LARGEST = 6000
"""The maximum size of a frame in bytes; longer frames only slow the fuzzer down."""

Frame = bytes


class _Names(dict[str, Any]):
    """Provides a value for any name that a transcript binds."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return "00112233-4455-6677-8899-aabbccddeeff" if name.endswith(".id") else 1


def build(api: Api, version: int, body: dict[str, Any]) -> Frame:
    """Encode a request as a frame, without the size prefix."""
    return RequestHeader(api, version, 1, "fuzz").encode() + messages.request(api.title, version, body).encode(version)


@cache
def corpus() -> tuple[Frame, ...]:
    frames: dict[Frame, None] = {}
    for frame in _all():
        if len(frame) <= LARGEST:
            frames[frame] = None
    return tuple(frames)


def _all() -> Iterator[Frame]:
    for api in sorted(SERVED):
        for version in range(api.versions.low, api.versions.high + 1):
            yield build(api, version, {})
    for name in names():
        for steps in load(name).steps.values():
            yield from _of_scenario(steps)


def _of_scenario(steps: list[dict[str, Any]]) -> Iterator[Frame]:
    names = _Names()
    for step in steps:
        if step["op"] == "let":
            names[step["name"]] = TOPICS[len(names) % len(TOPICS)] if isinstance(step["value"], str) else step["value"]
        elif step["op"] == "raw":
            yield bytes.fromhex(step["hex"])
        elif "body" in step and messages.APIS[step["api"]] in SERVED:
            api, body = messages.APIS[step["api"]], resolve(step["body"], names)
            for version in {step["version"], api.versions.low, api.versions.high}:
                try:
                    yield build(api, version, body)
                except (ProtocolError, ValueError, TypeError, AttributeError):
                    continue  # the body is not valid in this version, or a placeholder has the wrong type
