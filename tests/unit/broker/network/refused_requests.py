"""Requests of every API in every version, sent to Kafka by a client that has not authenticated yet.

`refused_requests.json` has the responses of Apache Kafka 2.8.2, 3.9.2 and 4.4.0 by the first 8 bytes of the request's
SHA-1: a response without its size, or null if Kafka closed the connection. They are recorded with
`python -m tests.oracle.broker.network.test_error_responses`.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.fields import Field
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.releases import versions_of
from kafkalet.protocol.schema import Request

RELEASES = ("2.8", "3.9", "4.4")
FILE = Path(__file__).with_suffix(".json")
REQUESTS_PER_VERSION = 3
CORRELATION_ID = 7

NAMES = ("alpha", "beta", "gamma", "delta", "alpha")
TOPIC_IDS = tuple(bytes([n]) * 16 for n in (1, 2, 3))
ZERO_OR_ONE = ("election_type", "isolation_level", "key_type")
TWO_OR_THREE = ("operation", "pattern_type", "permission_type", "resource_pattern_type", "resource_type")


class Refused(NamedTuple):
    """A request and the response of Kafka: a response without its size, or None if it closed the connection."""

    request: Request
    version: int
    answer: bytes | None

    def __str__(self) -> str:
        return f"{self.request.API} v{self.version}: {self.request}"


def frame_of(request: Request, version: int) -> bytes:
    return b"".join(request_frame(request, version, CORRELATION_ID, "c"))


def key_of(request: Request, version: int) -> str:
    return hashlib.sha1(frame_of(request, version), usedforsecurity=False).hexdigest()[:16]


def refused(release: str) -> list[Refused]:
    """Return the recorded requests and responses of a release."""
    found = []
    answers = _answers()
    for request, version in requests(release):
        [answer] = [given for releases, given in answers[key_of(request, version)].items() if release in releases]
        found.append(Refused(request, version, None if answer is None else bytes.fromhex(answer)))
    return found


@cache
def _answers() -> dict[str, dict[str, str | None]]:
    answers: dict[str, dict[str, str | None]] = json.loads(FILE.read_text(encoding="utf-8"))
    return answers


def requests(release: str) -> Iterator[tuple[Any, int]]:
    """Generate the same requests each time, with their versions. Some repeat items."""
    for api, versions in sorted(versions_of(release).items()):
        if api in SERVED and api is not Api.SASL_AUTHENTICATE:
            for version in range(versions.low, versions.high + 1):
                for number in range(REQUESTS_PER_VERSION):
                    yield _struct(request_type(api), version, random.Random(f"{api} {version} {number}")), version


def _struct(cls: Any, version: int, rng: random.Random) -> Any:
    return cls(**{field.name: _value(field, version, rng) for field in cls.FIELDS if version in field.versions})


def _value(field: Field, version: int, rng: random.Random) -> Any:
    if field.struct and not field.array and field.tag is not None:
        return None
    if version in field.nullable and rng.random() < 0.2:
        return None
    if field.array:
        return [_element(field, version, rng) for _ in range(rng.choice((0, 1, 2, 3, 5)))]
    return _element(field, version, rng)


def _element(field: Field, version: int, rng: random.Random) -> Any:
    if field.wire is None:
        return _struct(field.struct, version, rng)
    match field.wire.name:
        case "string":
            return rng.choice(NAMES)
        case "bytes" | "records":
            return b""
        case "uuid":
            return rng.choice(TOPIC_IDS)
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return 1.5
    if field.name in ZERO_OR_ONE:
        return rng.choice((0, 1))
    if field.name.removesuffix("_filter") in TWO_OR_THREE:
        return rng.choice((2, 3))
    return rng.choice((0, 1, 1, 2, 3))
