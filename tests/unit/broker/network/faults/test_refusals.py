"""Tests of error responses: each API and version, and requests of which only a part is refused."""

from typing import Any

import pytest

from kafkalet.broker.network.faults.refusals import can_refuse, places
from kafkalet.broker.network.request_items import PARTITION, PARTITION_NAMES, TOPIC, TOPIC_NAMES, parts_of
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.protocol.messages.recorded import recorded

from .brokers import Asking, asking

ERROR = Code.DELEGATION_TOKEN_EXPIRED
"""An error that no handler returns for the requests of these tests."""
SAMPLES = {
    (message.message.API, message.version): message.message.decode(message.data, message.version)
    for message in reversed(recorded("messages.json"))
    if message.name.endswith("Request")
}
"""A request with a value in each field, for each version."""
VERSIONS = [(api, v) for api in sorted(SERVED) for v in range(api.versions.low, api.versions.high + 1)]
REFUSABLE = [(api, v) for api, v in VERSIONS if places(api, v)]


def codes(answer: Any) -> list[int]:
    """Return all error codes in a response."""
    if isinstance(answer, list):
        return [code for item in answer for code in codes(item)]
    if not isinstance(answer, dict):
        return []
    own = [value for name, value in answer.items() if name.endswith("error_code") and name != "topic_config_error_code"]
    return own + [code for value in answer.values() for code in codes(value)]


def sample(api: Api, version: int) -> Any:
    """Return a request that Kafka would not refuse as a whole, and that expects a response."""
    request: Any = SAMPLES[api, version]
    if api is Api.PRODUCE:
        request.acks = 1
    if api is Api.FETCH:
        request.isolation_level, request.session_id, request.session_epoch = 0, 0, -1
    if api is Api.OFFSET_FETCH:
        for group in request.groups:
            group.member_id, group.member_epoch = None, -1
    if api is Api.DESCRIBE_TOPIC_PARTITIONS:
        request.cursor, request.response_partition_limit = None, 100
    return request


@pytest.fixture(scope="module")
def ask() -> Any:
    with asking(config={"auto.create.topics.enable": False}) as asked:
        asked(Api.FIND_COORDINATOR, 1, key="g", key_type=0)  # creates the coordinators
        yield asked


@pytest.mark.parametrize(("api", "version"), REFUSABLE, ids=[f"{api}-v{v}" for api, v in REFUSABLE])
def test_error_is_in_the_response_of_each_api_and_version(ask: Asking, api: Api, version: int) -> None:
    request = sample(api, version)
    with ask.cluster.fault(str(api), error=ERROR):
        answer = ask.send_message(api, version, request).answer
    assert ERROR in codes(answer)


def identify(topic: Any, request: str, version: int, text: str, topic_id: bytes) -> None:
    """Set the id of a topic in a request, or its name; some topics have only an id."""
    name = next((name for name in TOPIC_NAMES if hasattr(topic, name)), None)
    uses_ids = any(f.name == "topic_id" and version in f.versions for f in topic.FIELDS)
    if uses_ids and hasattr(topic, "topic_id"):
        topic.topic_id = bytes(16) if request == "MetadataRequest" else topic_id
    if name is None:
        return
    if not uses_ids or bytes(16) == getattr(topic, "topic_id", b""):
        setattr(topic, name, text)
    elif request == "DeleteTopicsRequest":
        setattr(topic, name, None)


def with_items(node: Any, version: int, ids: dict[str, bytes]) -> Any:
    """Return a copy of a request in which each list of topics has t and u, and each list of partitions 0 and 1."""
    changes: dict[str, Any] = {}
    for part in parts_of(type(node), version):
        given = getattr(node, part.name)
        if given is None or not given:
            continue
        first = given[0]
        if part.kind == TOPIC and not isinstance(first, str):
            both = [with_items(first, version, ids) for _ in ids]
            for topic, (text, topic_id) in zip(both, ids.items(), strict=True):
                identify(topic, type(node).__name__, version, text, topic_id)
            changes[part.name] = both
        elif part.kind == TOPIC:
            changes[part.name] = list(ids)
        elif part.kind == PARTITION and isinstance(first, int):
            changes[part.name] = [0, 1]
        elif part.kind == PARTITION:
            [name] = [name for name in PARTITION_NAMES if hasattr(first, name)]
            both = [with_items(first, version, ids) for _ in range(2)]
            for index, partition in enumerate(both):
                setattr(partition, name, index)
            changes[part.name] = both
        else:
            changes[part.name] = [with_items(first, version, ids)]
    return type(node)(**{field.name: getattr(node, field.name) for field in node.FIELDS} | changes)


def results(answer: Any, names: dict[bytes, str], topic: str | None = None) -> dict[tuple[str, int | None], set[int]]:
    """Return the error codes in a response by topic and partition."""
    found: dict[tuple[str, int | None], set[int]] = {}
    if isinstance(answer, list):
        for item in answer:
            for key, value in results(item, names, topic).items():
                found.setdefault(key, set()).update(value)
    if not isinstance(answer, dict):
        return found
    index = next((answer[name] for name in PARTITION_NAMES if name in answer), None)
    named = next((answer[name] for name in TOPIC_NAMES if answer.get(name) in ("t", "u")), None)
    topic = named or names.get(answer.get("topic_id", b""), topic)
    if topic is not None:
        own = {v for name, v in answer.items() if name.endswith("error_code") and name != "topic_config_error_code"}
        if own:
            found.setdefault((topic, index), set()).update(own)
    for value in answer.values():
        for key, more in results(value, names, topic).items():
            found.setdefault(key, set()).update(more)
    return found


def partly(topic: bool, partition: bool) -> Any:
    return [(api, v) for api, v in VERSIONS if can_refuse(api, v, topic=topic, partition=partition, group=False)]


@pytest.fixture
def topics(ask: Asking) -> dict[str, bytes]:
    """Create the topics t and u with two partitions each, and return their ids."""
    server = ask.cluster._server
    for name in ("t", "u"):
        if name not in server.metadata.topics:
            ask.cluster.topic(name).create(2)
    return {name: server.metadata.topics[name].topic_id for name in ("t", "u")}


@pytest.mark.parametrize(("api", "version"), partly(True, True), ids=[f"{api}-v{v}" for api, v in partly(True, True)])
def test_error_of_one_partition_does_not_affect_the_others(
    ask: Asking, topics: dict[str, bytes], api: Api, version: int
) -> None:
    request = with_items(sample(api, version), version, topics)
    with ask.cluster.fault(str(api), error=ERROR, topic="t", partition=1):
        answer = ask.send_message(api, version, request).answer
    found = results(answer, {topic_id: name for name, topic_id in topics.items()})
    assert {key for key, value in found.items() if ERROR in value} == {("t", 1)}
    assert answer.get("error_code") or {("t", 0), ("u", 0), ("u", 1)} <= found.keys()


@pytest.mark.parametrize(("api", "version"), partly(True, False), ids=[f"{api}-v{v}" for api, v in partly(True, False)])
def test_error_of_one_topic_does_not_affect_the_others(
    ask: Asking, topics: dict[str, bytes], api: Api, version: int
) -> None:
    request = with_items(sample(api, version), version, topics)
    with ask.cluster.fault(str(api), error=ERROR, topic="t"):
        answer = ask.send_message(api, version, request).answer
    found = results(answer, {topic_id: name for name, topic_id in topics.items()})
    assert {topic for (topic, _), value in found.items() if ERROR in value} == {"t"}
    assert answer.get("error_code") or "u" in {topic for topic, _ in found}
