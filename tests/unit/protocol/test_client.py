"""Requests to frames, and frames to responses."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.client import InFlightRequests, decode_response
from kafkalet.protocol.errors import Code, DecodeError
from kafkalet.protocol.frame import RequestHeader, response_frame
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.schema import Response

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def response(message: Response, version: int, correlation_id: int) -> bytes:
    """Return a frame without its size."""
    pieces: list[Any] = response_frame(message, version, correlation_id)
    return b"".join(pieces)[4:]


def test_requests_are_numbered_and_have_the_name_of_the_client() -> None:
    requests = InFlightRequests("me")
    frames = [requests.encode(HEARTBEAT, version) for version in (3, 4)]
    assert [number for number, _ in frames] == [1, 2]
    headers = [RequestHeader.decode(frame[4:])[0] for _, frame in frames]
    assert headers == [RequestHeader(Api.HEARTBEAT, 3, 1, "me"), RequestHeader(Api.HEARTBEAT, 4, 2, "me")]
    assert [int.from_bytes(frame[:4], "big") for _, frame in frames] == [len(frame) - 4 for _, frame in frames]


def test_responses_are_matched_in_any_order() -> None:
    requests = InFlightRequests("me")
    first, _ = requests.encode(HEARTBEAT, 3)
    second, _ = requests.encode(ApiVersionsRequest(), 0)
    assert list(requests.pending) == [first, second]
    assert requests.complete(response(ApiVersionsResponse(api_keys=[]), 0, second)) == (second, Api.API_VERSIONS, 0)
    assert requests.complete(response(HeartbeatResponse(error_code=0), 3, first)) == (first, Api.HEARTBEAT, 3)
    assert not requests.pending


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\0\0\0", "a response of 3 bytes has no correlation id"),
        (b"\0\0\0\x63", "the response has the correlation id 99, expected is 1, 2"),
    ],
)
def test_frame_that_responds_to_no_request_is_rejected(frame: bytes, reason: str) -> None:
    requests = InFlightRequests("me")
    for _ in range(2):
        requests.encode(HEARTBEAT, 3)
    with pytest.raises(DecodeError, match=reason):
        requests.complete(frame)


@pytest.mark.parametrize("version", HeartbeatRequest.VERSIONS)
def test_response_is_decoded_after_its_header(version: int) -> None:
    message = HeartbeatResponse(error_code=27)
    assert decode_response(Api.HEARTBEAT, version, response(message, version, 1)) == (message, version)


@pytest.mark.parametrize("version", ApiVersionsRequest.VERSIONS)
def test_refused_api_versions_is_decoded_in_version_0(version: int) -> None:
    message = ApiVersionsResponse(error_code=Code.UNSUPPORTED_VERSION, api_keys=[])
    assert decode_response(Api.API_VERSIONS, version, response(message, 0, 1)) == (message, 0)
