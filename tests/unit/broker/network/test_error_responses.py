"""Error responses are those of Apache Kafka, byte by byte."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.config.release import Release
from kafkalet.broker.network.error_responses import error_frame
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.releases import versions_of

from .refused_requests import RELEASES, Refused, frame_of, refused


def broker(release: str) -> Any:
    served = {api: (versions.low, versions.high) for api, versions in versions_of(release).items()}
    return SimpleNamespace(api_versions=served)


def answer(each: Refused, release: str) -> bytes | None:
    """Return the response without its size, or None if the connection would be closed."""
    context: Any = SimpleNamespace(broker=broker(release), release=Release.of(release))
    text = f"Unexpected Kafka request of type {each.request.API.name} during SASL authentication."
    try:
        chunks = error_frame(
            frame_of(each.request, each.version)[4:], context, KafkaError(Code.ILLEGAL_SASL_STATE, text)
        )
    except CloseConnection:
        return None
    return b"".join(map(bytes, chunks))[4:] or None


@pytest.mark.parametrize("release", RELEASES)
def test_responses_during_authentication_are_those_of_kafka(release: str) -> None:
    given = refused(release)
    assert [str(each) for each in given if answer(each, release) != each.answer] == []


def test_recorded_requests_cover_every_version_of_every_api_of_a_release() -> None:
    from kafkalet.broker.served import SERVED

    covered = {(each.request.API, each.version) for each in refused("4.4")}
    expected = {(api, v) for api, each in versions_of("4.4").items() for v in range(each.low, each.high + 1)}
    assert {pair for pair in expected if pair[0] in SERVED} - covered == {(Api.SASL_AUTHENTICATE, v) for v in range(3)}


def test_api_versions_in_an_unsupported_version_is_answered_in_version_0() -> None:
    frame = RequestHeader(Api.API_VERSIONS, 99, 7, "c").encode() + b"body that is not read"
    context: Any = SimpleNamespace(broker=broker("4.4"), release=Release.of("4.4"))
    chunks = error_frame(frame, context, KafkaError(Code.ILLEGAL_SASL_STATE))
    assert b"".join(map(bytes, chunks))[8:10] == Code.ILLEGAL_SASL_STATE.to_bytes(2, "big")


def test_unserved_version_closes_the_connection() -> None:
    frame = RequestHeader(Api.METADATA, 99, 7, "c").encode()
    context: Any = SimpleNamespace(broker=broker("4.4"), release=Release.of("4.4"))
    with pytest.raises(CloseConnection, match="Metadata v99 is not served"):
        error_frame(frame, context, KafkaError(Code.ILLEGAL_SASL_STATE))
