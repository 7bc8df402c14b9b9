"""Tests of recorded exchanges: decoding requests and responses of every API, and their text."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.network.exchange import ConnectionFacts, Exchange, KeptResponse, plain
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.schema import Request, Response

VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "messages.json"
"""Messages that Kafka's Java classes have encoded."""


def exchange(
    request: Request | None,
    version: int,
    answer: KeptResponse = None,
    *,
    api: Api = Api.LIST_OFFSETS,
    kept: int | None = None,
    ended_s: float | None = 1.002,
) -> Exchange:
    facts = ConnectionFacts(3, "me", ("127.0.0.1", 5), 1, "PLAINTEXT", 0.0, MetadataImage("C"))
    body = b"" if request is None else request.encode(version)
    frame = RequestHeader(api if request is None else request.API, version, 77, "me").encode() + body
    return Exchange(1.0, ended_s, facts, frame[:kept], len(frame), answer, False)


def list_offsets(*errors: int) -> tuple[ListOffsetsRequest, ListOffsetsResponse]:
    asked = [ListOffsetsRequest.Topic.Partition(partition_index=index, timestamp=-1) for index in range(len(errors))]
    result = [
        ListOffsetsResponse.Topic.Partition(partition_index=index, error_code=error, offset=7, timestamp=-1)
        for index, error in enumerate(errors)
    ]
    return (
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name="t", partitions=asked)]),
        ListOffsetsResponse(topics=[ListOffsetsResponse.Topic(name="t", partitions=result)]),
    )


def produce(size: int, partitions: int = 1) -> ProduceRequest:
    batch = build_batch(numbered([(1000, None, b"x" * size, ())]))
    sent = [ProduceRequest.Topic.Partition(index=index, records=batch) for index in range(partitions)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name="t", partition_data=sent)])


@cache
def vectors() -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = {}
    for name, version, data, *_ in json.loads(VECTORS.read_text()):
        found.setdefault((name, version), []).append(bytes.fromhex(data))
    return found


@pytest.mark.parametrize("api", sorted(SERVED), ids=str)
def test_every_version_of_a_served_api_is_decoded(api: Api) -> None:
    checked = 0
    for version in range(api.versions.low, api.versions.high + 1):
        requests = vectors().get((f"{api}Request", version), [])
        responses = vectors().get((f"{api}Response", version), [])
        for sent, result in zip(requests, responses, strict=True):
            frame = RequestHeader(api, version, 77, "me").encode() + sent
            found = exchange(None, version, result, api=api)._replace(frame=frame, frame_bytes=len(frame))
            assert found.request() == request_type(api).decode(sent, version)
            assert found.response() == response_type(api).decode(result, found.response_version)
            for message in (found.request(), found.response()):
                assert message is not None
                json.dumps(plain(message, version), default=bytes.hex)
            assert found.text(2.0).startswith(f"client=me {api} v{version}")
            checked += 1
    assert checked >= 1


def test_plain_data_has_the_fields_of_the_version() -> None:
    request, _ = list_offsets(0)
    partition = {"partition_index": 0, "timestamp": -1}
    assert plain(request, 1) == {"replica_id": -1, "topics": [{"name": "t", "partitions": [partition]}]}
    assert plain(request, 2)["isolation_level"] == 0


def test_records_are_described_by_their_batches() -> None:
    [topic] = plain(produce(10), 9)["topic_data"]
    [partition] = topic["partition_data"]
    assert partition["records"]["batches"] == [{"base_offset": 0, "records": 1}]


def test_credentials_are_omitted() -> None:
    assert plain(SaslAuthenticateRequest(auth_bytes=b"\0me\0secret"), 2) == {"auth_bytes": None}


def test_representation_does_not_show_the_bytes() -> None:
    found = exchange(SaslAuthenticateRequest(auth_bytes=b"\0me\0secret"), 2)
    assert repr(found) == "<SaslAuthenticate v2 of 'me', 25 bytes>"


def test_errors_of_the_response_are_named_once() -> None:
    request, response = list_offsets(0, Code.NOT_LEADER_OR_FOLLOWER, 3, 3)
    found = exchange(request, 7, response.encode(7)).errors()
    assert found == ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"]


def test_error_without_a_name_is_shown_as_its_number() -> None:
    request, response = list_offsets(9999)
    assert exchange(request, 7, response.encode(7)).errors() == ["error 9999"]


def test_topics_are_those_of_request_and_response() -> None:
    request, response = list_offsets(0)
    assert exchange(request, 7).topics() == exchange(request, 7, response.encode(7)).topics() == {"t"}


def test_text_equals_that_in_the_request_log() -> None:
    request, response = list_offsets(0)
    text = exchange(request, 7, response.encode(7)).text(2.0)
    assert text == "client=me ListOffsets v7 t-0@latest -> offset 7 in 2.0 ms"


def test_text_of_a_waiting_request_has_its_duration() -> None:
    request, _ = list_offsets(0)
    text = exchange(request, 7, ended_s=None).text(1.5)
    assert text == "client=me ListOffsets v7 t-0@latest -> waiting for 500 ms"


def test_text_of_a_request_without_response_says_so() -> None:
    request, _ = list_offsets(0)
    assert exchange(request, 7).text(2.0).endswith("-> no response in 2.0 ms")
    assert exchange(request, 7, "connection closed: why").text(2.0).endswith("-> connection closed: why in 2.0 ms")


def test_beginning_of_a_produce_request_shows_topic_and_size() -> None:
    request = produce(5000)
    found = exchange(request, 9, kept=1024)
    size = len(request.topic_data[0].partition_data[0].records or b"")
    assert found.text(2.0).startswith(f"client=me Produce v9 t-0 {size} B ->")
    decoded = found.request()
    assert decoded is not None
    assert plain(decoded, 9)["topic_data"][0]["partition_data"] == [{"index": 0, "records": {"size_bytes": size}}]


def test_partitions_that_were_not_kept_are_omitted() -> None:
    found = exchange(produce(5000, partitions=3), 9, kept=1024)
    decoded = found.request()
    assert isinstance(decoded, ProduceRequest)
    assert [partition.index for partition in decoded.topic_data[0].partition_data] == [0]


def test_other_request_that_was_not_kept_is_not_decoded() -> None:
    found = exchange(list_offsets(0)[0], 7, kept=12)
    assert (found.request(), found.topics()) == (None, set())
    assert found.text(2.0).startswith(f"client=me ListOffsets v7 ({found.frame_bytes} B) ->")


def fetched() -> FetchResponse:
    records = build_batch(numbered([(1000, None, b"x" * 600, ())]))
    partition = FetchResponse.Topic.Partition(partition_index=0, error_code=0, high_watermark=1, records=records)
    return FetchResponse(responses=[FetchResponse.Topic(topic="t", partitions=[partition])])


def parts_of(response: Response, version: int) -> list[bytes | int]:
    """Return a response as the journal keeps it, with the sizes of long parts."""
    pieces = [bytes(piece) for piece in response.encode_into([], version)]  # type: ignore[arg-type]
    return [piece if len(piece) < 100 else len(piece) for piece in pieces]


def test_fetched_records_that_were_not_kept_have_their_size() -> None:
    response = fetched()
    found = exchange(None, 11, parts_of(response, 11), api=Api.FETCH).response()
    assert isinstance(found, FetchResponse)
    size = len(response.responses[0].partitions[0].records or b"")
    assert plain(found, 11)["responses"][0]["partitions"][0]["records"] == {"size_bytes": size}
    assert found.responses[0].partitions[0].high_watermark == 1


def test_refused_api_versions_request_has_a_response_of_version_0() -> None:
    from kafkalet.protocol.messages.api_versions import ApiVersionsResponse

    answer = ApiVersionsResponse(error_code=Code.UNSUPPORTED_VERSION, api_keys=[]).encode(0)
    found = exchange(None, 4, answer, api=Api.API_VERSIONS)
    assert (found.response_version, found.errors()) == (0, ["UNSUPPORTED_VERSION"])


@pytest.mark.parametrize("frame", [b"", b"\0", b"\0\3", b"\0\3\0\x09", b"\x7f\xff\0\0" + bytes(8)])
def test_frame_that_is_not_a_request_is_shown(frame: bytes) -> None:
    found: Any = exchange(None, 7)._replace(frame=frame, frame_bytes=len(frame), answer="connection closed: why")
    assert found.request() is None
    assert found.text(2.0)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("ssl.keystore.password", True),
        ("listener.name.outside.ssl.key.password", True),
        ("listener.name.outside.plain.sasl.jaas.config", True),
        ("ssl.keystore.certificate.chain", True),
        ("password.encoder.secret", True),
        ("my.own.password", True),
        ("retention.ms", False),
        ("ssl.keystore.type", False),
        ("my.own.property", False),
    ],
)
def test_values_of_passwords_are_left_out(name: str, is_secret: bool) -> None:
    config = IncrementalAlterConfigsRequest.Resource.Config(name=name, config_operation=0, value="given")
    shown = plain(config, 1)
    assert shown["name"] == name
    assert shown["value"] == (None if is_secret else "given")
