"""Messages encoded by Kafka's Java classes are decoded, and encoded again to the same bytes."""

from collections import defaultdict

import pytest

from kafkalet.protocol.api import BY_TITLE, Api

from .recorded import INSIDE, Recorded, as_kafka_json, recorded

MESSAGES = recorded("messages.json")
INNER = recorded("inside.json")
BY_API = defaultdict(list)
for vector in MESSAGES:
    BY_API[BY_TITLE[vector.name.removesuffix("Request").removesuffix("Response")]].append(vector)


@pytest.mark.parametrize("api", [api for api in Api if api.client_facing], ids=str)
def test_recorded_messages_are_reencoded_to_the_same_bytes(api: Api) -> None:
    for vector in BY_API[api]:
        assert vector.message.decode(vector.data, vector.version).encode(vector.version) == vector.data, vector


@pytest.mark.parametrize("api", [api for api in Api if api.client_facing], ids=str)
def test_every_version_was_recorded(api: Api) -> None:
    versions = {(vector.name, vector.version) for vector in BY_API[api]}
    assert len(versions) == 2 * (api.versions.high - api.versions.low + 1)


@pytest.mark.parametrize(
    "vector",
    [vector for vector in MESSAGES + INNER if vector.values],
    ids=lambda vector: f"{vector.name}-v{vector.version}",
)
def test_decoded_values_equal_those_of_java(vector: Recorded) -> None:
    message = vector.message.decode(vector.data, vector.version)
    assert as_kafka_json(message, vector.version) == vector.values


@pytest.mark.parametrize("name", INSIDE)
def test_recorded_keys_and_values_are_reencoded_to_the_same_bytes(name: str) -> None:
    vectors = [vector for vector in INNER if vector.name == name]
    versions = INSIDE[name].VERSIONS
    assert {vector.version for vector in vectors} == set(range(versions.low, versions.high + 1))
    for vector in vectors:
        assert vector.message.decode(vector.data, vector.version).encode(vector.version) == vector.data, vector


def test_unknown_tags_of_recorded_messages_are_skipped() -> None:
    with_tags = 0
    for vector in recorded("unknown_tags.json"):
        message = vector.message.decode(vector.data, vector.version)
        without = message.encode(vector.version)
        with_tags += len(without) < len(vector.data)
        assert vector.message.decode(without, vector.version) == message, vector
    assert with_tags > 100
