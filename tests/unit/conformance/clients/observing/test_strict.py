"""The strict decoder: it accepts what encoders write, and names each defect with its position."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.protocol.api import Api
from kafkalet.protocol.frame import request_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.schema import Request
from kafkalet_conformance.clients.observing import reading, strict
from kafkalet_conformance.clients.observing.strict import check_request, header_of
from tests.profile import examples
from tests.unit.protocol.messages.values import structs

ENCODING = {
    claim.rule
    for claim in (
        *(reading.COMPLETE, reading.MINIMAL, reading.LENGTH, reading.UTF_8),
        *(strict.NULL, strict.BOOLEAN, strict.TRAILING, strict.TAG_ORDER, strict.TAG_SIZE, strict.UNKNOWN_TAG),
        *(strict.DEFAULT_TAG, strict.VERSION, strict.API_KEY),
    )
}
"""The rules about the encoding, as opposed to values."""
VERSIONS = [
    (api, version) for api in Api if api.client_facing for version in range(api.versions.low, api.versions.high + 1)
]


def encoded(request: Request, version: int, client_id: str | None = "me") -> bytearray:
    return bytearray(b"".join(bytes(piece) for piece in request_frame(request, version, 7, client_id))[4:])  # type: ignore[arg-type]


def found(frame: bytes | bytearray) -> list[tuple[str, int, str]]:
    """Return the rule, the position and the field of each complaint."""
    return [(each.claim.rule, each.position, each.path) for each in check_request(bytes(frame)).complaints]


@pytest.mark.parametrize("api", dict.fromkeys(api for api, _ in VERSIONS), ids=str)
@settings(max_examples=examples(0.08), suppress_health_check=[HealthCheck.data_too_large])
@given(data=st.data())
def test_encoded_requests_have_no_defect(api: Api, data: st.DataObject) -> None:
    for version in range(api.versions.low, api.versions.high + 1):
        request: Any = data.draw(structs(request_type(api), version))
        result = check_request(bytes(encoded(request, version)))
        assert not [str(each) for each in result.complaints if each.claim.rule in ENCODING]
        assert result.is_decoded


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: str(value))
def test_byte_after_the_last_field_is_found(api: Api, version: int) -> None:
    frame = encoded(minimal(api), version)
    assert ("trailing-bytes", len(frame), "end") in found(frame + b"\0")


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: str(value))
def test_missing_last_byte_is_found(api: Api, version: int) -> None:
    frame = encoded(minimal(api), version)[:-1]
    assert any(rule in ("complete", "length", "tag-size") for rule, _, _ in found(frame))


def minimal(api: Api) -> Request:
    """Return a request with empty arrays and short values."""
    return _minimal(request_type(api))  # type: ignore[no-any-return]


def _minimal(cls: Any) -> Any:
    values: dict[str, Any] = {"string": "x", "bytes": b"x", "records": b"x", "uuid": bytes(range(16))}
    return cls(
        **{
            field.name: []
            if field.array
            else _minimal(field.struct)
            if field.struct is not None
            else values.get(field.wire.name, 0)
            for field in cls.FIELDS
            if field.tag is None
        }
    )


def fetch(**values: Any) -> FetchRequest:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=3, partition_max_bytes=1000)
    topic = FetchRequest.Topic(topic="t", topic_id=bytes(range(16)), partitions=[partition])
    return FetchRequest(max_wait_ms=1, min_bytes=1, topics=[topic], **values)


def metadata(names: list[str] | None = None) -> MetadataRequest:
    return MetadataRequest(topics=None if names is None else [MetadataRequest.Topic(name=name) for name in names])


def test_complaint_names_the_field_with_its_position() -> None:
    request = fetch()
    request.topics[0].partitions[0].fetch_offset = -5
    frame = encoded(request, 4)
    [complaint] = check_request(bytes(frame)).complaints
    at = bytes(frame).index((-5).to_bytes(8, "big", signed=True))
    assert str(complaint) == (
        f"byte {at}: topics[0].partitions[0].fetch_offset: the value is -5; an offset is not negative"
    )


def test_unknown_api_key_is_found() -> None:
    frame = encoded(metadata(), 1)
    frame[0:2] = (500).to_bytes(2, "big")
    assert found(frame) == [("api-key", 0, "request_api_key")]


def test_api_of_brokers_is_found() -> None:
    frame = encoded(metadata(), 1)
    frame[0:2] = int(Api.LEADER_AND_ISR).to_bytes(2, "big")
    assert ("api-key", 0, "request_api_key") in found(frame)


def test_version_that_was_never_released_is_found() -> None:
    frame = encoded(metadata(), 1)
    frame[2:4] = (99).to_bytes(2, "big")
    assert ("version", 2, "request_api_version") in found(frame)


def test_newer_version_of_api_versions_is_only_a_note() -> None:
    frame = encoded(ApiVersionsRequest(client_software_name="me", client_software_version="1"), 3)
    frame[2:4] = (9).to_bytes(2, "big")
    [complaint] = check_request(bytes(frame)).complaints
    assert complaint.claim is strict.NEW_VERSION


def test_header_of_controlled_shutdown_v0_has_no_client_id() -> None:
    frame = int(Api.CONTROLLED_SHUTDOWN).to_bytes(2, "big") + bytes(2) + (5).to_bytes(4, "big") + bytes(4)
    assert header_of(frame) == (Api.CONTROLLED_SHUTDOWN, 0, 5, None)
    assert found(frame) == [("api-key", 0, "request_api_key")]


def test_null_client_id_is_allowed() -> None:
    assert not found(encoded(metadata(), 1, None))


def test_negative_length_of_the_client_id_other_than_minus_one_is_found() -> None:
    frame = encoded(metadata(), 1, None)
    frame[8:10] = (-2).to_bytes(2, "big", signed=True)
    assert found(frame) == [("length", 8, "client_id")]


def test_client_id_that_is_not_utf_8_is_found() -> None:
    frame = encoded(metadata(), 1, "ab")
    frame[11] = 0xFF
    assert found(frame) == [("utf-8", 11, "client_id")]


def test_unknown_tag_in_the_header_is_a_note() -> None:
    frame = encoded(metadata(), 9, "ab")
    frame[12:13] = bytes([1, 5, 2]) + b"xy"
    assert found(frame) == [("unknown-tag", 13, "header.tag 5")]
    assert check_request(bytes(frame)).is_decoded


def test_null_in_a_field_that_is_not_nullable_is_found() -> None:
    frame = encoded(FindCoordinatorRequest(key="a"), 0)
    at = len(frame) - 3
    frame[at:] = (-1).to_bytes(2, "big", signed=True)
    assert ("null", at, "key") in found(frame)


def test_boolean_other_than_0_and_1_is_found() -> None:
    frame = encoded(metadata([]), 4)
    frame[-1] = 2
    assert found(frame) == [("boolean", len(frame) - 1, "allow_auto_topic_creation")]


def test_long_varint_of_a_length_is_found() -> None:
    frame = encoded(metadata(["abc"]), 9)
    at = bytes(frame).index(b"\x04abc")
    frame[at : at + 1] = b"\x84\x00"
    assert found(frame) == [("minimal-varint", at, "topics[0].name")]


def test_length_beyond_the_request_is_found() -> None:
    frame = encoded(metadata(["abc"]), 1)
    at = bytes(frame).index(b"\0\x03abc")
    frame[at : at + 2] = (500).to_bytes(2, "big")
    assert found(frame) == [("complete", at + 2, "topics[0].name")]


def test_array_with_more_elements_than_bytes_is_found() -> None:
    frame = encoded(metadata([]), 1)
    frame[-4:] = (1_000_000).to_bytes(4, "big")
    assert found(frame) == [("complete", len(frame), "topics")]


def tagged_fetch(section: bytes) -> bytearray:
    """Return a Fetch request with other tagged fields at its end."""
    frame = encoded(fetch(), 12)
    assert frame[-1] == 0
    return frame[:-1] + section


def test_repeated_tag_is_found() -> None:
    frame = tagged_fetch(b"\x02" + b"\x09\x01x" + b"\x09\x01y")
    assert ("tag-order", len(frame) - 3, "tag 9") in found(frame)


def test_descending_tags_are_found() -> None:
    frame = tagged_fetch(b"\x02" + b"\x09\x01x" + b"\x08\x01y")
    assert ("tag-order", len(frame) - 3, "tag 8") in found(frame)


def test_tag_that_is_longer_than_its_value_is_found() -> None:
    frame = tagged_fetch(b"\x01" + b"\x00\x04" + b"\x02a" + b"zz")
    assert ("tag-size", len(frame) - 6, "cluster_id") in found(frame)


def test_tag_with_its_default_is_a_note() -> None:
    frame = tagged_fetch(b"\x01" + b"\x00\x01" + b"\x00")
    assert found(frame) == [("default-tag", len(frame) - 3, "cluster_id")]


def test_request_without_a_complete_header_is_found() -> None:
    assert found(b"\0\0\0") == [("complete", 2, "request_api_version")]
    assert found(b"") == [("complete", 0, "request_api_key")]


@given(st.binary(max_size=60))
def test_garbage_never_raises(data: bytes) -> None:
    check_request(data)
    header_of(data)
