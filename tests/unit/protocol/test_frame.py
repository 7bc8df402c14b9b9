import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as KioHeader1
from kio.schema.request_header.v2.header import RequestHeader as KioHeader2
from kio.static.primitive import i16, i32

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.frame import (
    RequestHeader,
    decode_response_header,
    has_response_tags,
    request_frame,
    response_frame,
)
from kafkalet.protocol.messages.api_versions import ApiVersionsResponse
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

from .messages.kio_mapping import kio_encode

IDS = st.integers(-(1 << 31), (1 << 31) - 1)
CLIENTS = st.none() | st.text(st.characters(codec="utf-8"), max_size=9)


@given(st.sampled_from([(Api.HEARTBEAT, 3), (Api.HEARTBEAT, 4), (Api.SASL_HANDSHAKE, 1)]), IDS, CLIENTS)
def test_request_header_equals_that_of_kio(of: tuple[Api, int], correlation_id: int, client_id: str | None) -> None:
    api, version = of
    cls = KioHeader2 if version in api.flexible else KioHeader1
    theirs = cls(
        request_api_key=i16(api),
        request_api_version=i16(version),
        correlation_id=i32(correlation_id),
        client_id=client_id,
    )
    header = RequestHeader(api, version, correlation_id, client_id)
    data = header.encode()
    assert data == kio_encode(theirs)
    assert RequestHeader.decode(data + b"message") == (header, len(data))
    assert RequestHeader.decode(bytearray(data)) == (header, len(data))


def test_the_client_id_is_never_compact() -> None:
    assert RequestHeader(Api.API_VERSIONS, 3, 7, "me").encode().hex() == "001200030000000700026d6500"


def test_unknown_tags_of_a_header_are_skipped() -> None:
    data = RequestHeader(Api.HEARTBEAT, 4, 7, "me").encode()[:-1] + b"\1\x09\2ab"
    assert RequestHeader.decode(data + b"message")[1] == len(data)


def test_header_of_unsupported_version_is_decoded() -> None:
    header = RequestHeader(Api.API_VERSIONS, 99, 7, "me")
    assert RequestHeader.decode(header.encode())[0] == header


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x0c",
        b"\x00\x0c\x00\x03\x00\x00\x00\x07\x00",
        b"\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x03me",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me\1\5\7ab",
        b"\x7f\xff\x00\x00\x00\x00\x00\x07\x00\x02me",
    ],
    ids=["empty", "truncated", "no length", "truncated client id", "no tags", "truncated tag", "unknown API"],
)
def test_malformed_request_header_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        RequestHeader.decode(data)


def test_client_id_is_decoded_as_in_kafka() -> None:
    fixed = b"\x00\x0c\x00\x03\x00\x00\x00\x07"
    assert RequestHeader.decode(fixed + b"\xff\xfe")[0].client_id is None
    assert RequestHeader.decode(fixed + b"\x00\x02\xc3(")[0].client_id == "\ufffd("


@given(st.binary(max_size=30))
def test_random_bytes_are_a_header_or_refused(data: bytes) -> None:
    try:
        _, end = RequestHeader.decode(data)
    except DecodeError:
        return
    assert end <= len(data)


def test_responses_have_tags_in_flexible_versions() -> None:
    assert not has_response_tags(Api.HEARTBEAT, 3)
    assert has_response_tags(Api.HEARTBEAT, 4)


def test_api_versions_response_has_no_header_tags_in_any_version() -> None:
    assert not any(has_response_tags(Api.API_VERSIONS, version) for version in range(6))


@pytest.mark.parametrize(("version", "head"), [(3, "0000000a00000007"), (4, "0000000c0000000700")])
def test_response_frame_begins_with_size_and_correlation_id(version: int, head: str) -> None:
    response = HeartbeatResponse()
    frame = b"".join(response_frame(response, version, 7))  # type: ignore[arg-type]
    assert frame == bytes.fromhex(head) + response.encode(version)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert decode_response_header(Api.HEARTBEAT, version, frame[4:]) == (7, len(head) // 2 - 4)


def test_frame_size_includes_pieces_that_are_not_bytes() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 1 << 20

    Topic = FetchResponse.Topic
    partition = Topic.Partition(partition_index=0, high_watermark=0, records=FileRange())
    frame = response_frame(FetchResponse(responses=[Topic(topic="t", partitions=[partition])]), 11, 7)
    assert int.from_bytes(frame[0][:4], "big") == sum(map(len, frame)) - 4 > 1 << 20  # type: ignore[index]


def test_records_of_a_response_frame_are_not_copied() -> None:
    records = bytes(1000)
    Topic = FetchResponse.Topic
    partition = Topic.Partition(partition_index=0, high_watermark=0, records=records)
    frame = response_frame(FetchResponse(responses=[Topic(topic="t", partitions=[partition])]), 11, 7)
    assert any(piece is records for piece in frame)


def test_request_frame_consists_of_size_header_and_message() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    frame = b"".join(request_frame(request, 4, 7, "me"))  # type: ignore[arg-type]
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, at = RequestHeader.decode(frame[4:])
    assert header == (Api.HEARTBEAT, 4, 7, "me")
    assert HeartbeatRequest.decode(frame[4:], 4, at) == request


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7\1\5", b"\0\0\0\7\1\5\7ab"])
def test_malformed_response_header_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_response_header(Api.HEARTBEAT, 4, data)


def test_response_to_unsupported_api_versions_can_be_decoded_as_version_0() -> None:
    response = ApiVersionsResponse(error_code=35, api_keys=[])
    assert b"".join(response_frame(response, 0, 7)).hex() == "0000000a00000007002300000000"  # type: ignore[arg-type]
