"""Requests with the longest possible strings in every field of every API.

An error message that quotes such a string may be too long for the response; Kafka then returns UNKNOWN_SERVER_ERROR.
"""

import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.text import MAX_STRING_BYTES
from kafkalet_conformance.playing.connection import Connection, decode_answer
from tests.wire.brokers import Wire, on_the_wire

LONGEST = "x" * MAX_STRING_BYTES
ZEROS = {"bool": False, "float64": 0.0, "uuid": bytes(16), "bytes": b"", "records": b"", "string": LONGEST}
TOPIC, BROKER, GROUP = 2, 4, 32
# The quota APIs are left out, because the controller handles them in Kafka. UnregisterBroker has no strings, and would
# unregister the broker of the following tests.
ASKED = sorted(set(SERVED) - {Api.ALTER_CLIENT_QUOTAS, Api.UNREGISTER_BROKER})


def filled(cls: Any) -> Any:
    """Return a struct with the longest possible strings and one element in every array."""
    return cls(**{field.name: value(field) for field in cls.FIELDS})


def value(field: Any) -> Any:
    one = filled(field.struct) if field.struct else ZEROS.get(field.wire.name, 1)
    return [one] if field.array else one


def ask(wire: Wire, api: Api, version: int, request: Any, client_id: str = "c") -> Any:
    """Send a request and return the decoded response. Raises Closed if the broker closes the connection."""
    endpoint = wire.cluster._server.metadata.endpoints[1]
    connection = Connection(endpoint.host, endpoint.port)
    try:
        head = struct.pack(">hhih", api, version, 7, len(client_id)) + client_id.encode()
        tags = b"\0" if version in api.flexible else b""
        connection.send_frame(head + tags + request.encode(version))
        return decode_answer(api.title, version, connection.receive_frame(time.monotonic() + 10))
    finally:
        connection.close()


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        yield wire


@pytest.mark.parametrize("api", ASKED, ids=str)
def test_requests_with_the_longest_strings_are_answered(wire: Wire, api: Api) -> None:
    low, high = wire.cluster._server.call(lambda: wire.cluster._server.brokers[1].api_versions[api])
    for version in {low, high}:
        assert ask(wire, api, version, filled(request_type(api)), LONGEST)


@pytest.mark.parametrize("api", [Api.DESCRIBE_CONFIGS, Api.ALTER_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS], ids=str)
@pytest.mark.parametrize(("resource_type", "name"), [(TOPIC, LONGEST), (BROKER, LONGEST), (BROKER, "1"), (GROUP, "g")])
def test_resource_of_any_type_with_longest_strings_is_answered(
    wire: Wire, api: Api, resource_type: int, name: str
) -> None:
    request = filled(request_type(api))
    request.resources[0].resource_type, request.resources[0].resource_name = resource_type, name
    assert ask(wire, api, api.versions.high, request)


def test_create_topics_with_too_long_error_message_returns_unknown_server_error(wire: Wire) -> None:
    for version in (1, 7):
        answer = wire.ask("CreateTopics", version, {"topics": [{"name": LONGEST}]})
        [topic] = answer["topics"]
        assert (topic["name"], topic["error_code"], topic["error_message"]) == (
            LONGEST,
            Code.UNKNOWN_SERVER_ERROR,
            None,
        )


def test_describe_configs_with_too_long_error_message_returns_unknown_server_error(wire: Wire) -> None:
    asked = {"resource_type": BROKER, "resource_name": LONGEST, "configuration_keys": None}
    [result] = wire.ask("DescribeConfigs", 4, {"resources": [asked]})["results"]
    text = "The server experienced an unexpected error when processing the request."
    assert (result["error_code"], result["error_message"]) == (Code.UNKNOWN_SERVER_ERROR, text)


@pytest.mark.parametrize("version", [0, 3, 4, 9])
def test_join_group_with_too_long_member_id_adds_no_member(wire: Wire, version: int) -> None:
    group_id = f"long-{version}"
    request = request_type(Api.JOIN_GROUP)(
        **{
            **{field.name: value(field) for field in request_type(Api.JOIN_GROUP).FIELDS},
            "group_id": group_id,
            "session_timeout_ms": 10_000,
            "member_id": "",
            "group_instance_id": None,
        }
    )
    answer = ask(wire, Api.JOIN_GROUP, version, request, LONGEST)
    assert (answer["error_code"], answer["member_id"]) == (Code.UNKNOWN_SERVER_ERROR, "")
    assert wire.cluster.group(group_id).members == []


def test_static_join_with_too_long_member_id_adds_no_member(wire: Wire) -> None:
    request = filled(request_type(Api.JOIN_GROUP))
    request.group_id, request.session_timeout_ms, request.member_id = "long-static", 10_000, ""
    answer = ask(wire, Api.JOIN_GROUP, 9, request)
    assert answer["error_code"] == Code.UNKNOWN_SERVER_ERROR
    assert wire.cluster.group("long-static").members == []


def test_transactional_id_of_32767_bytes_is_accepted(wire: Wire) -> None:
    wire.ask("FindCoordinator", 1, {"key": LONGEST, "key_type": 1})  # creates the internal topic
    answer = wire.ask(
        "InitProducerId",
        4,
        {"transactional_id": LONGEST, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1},
    )
    assert answer["error_code"] == Code.NONE
    assert wire.cluster.transaction(LONGEST).state == "Empty"
