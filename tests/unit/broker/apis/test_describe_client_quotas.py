"""`kafkalet.broker.apis.describe_client_quotas`: filters and the entities that match them."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .asking import Asking, asking

EXACT, DEFAULT, ANY = 0, 1, 2
Entity = dict[str, str | None]
ENTITIES: list[Entity] = [
    {"user": "u"},
    {"user": "u", "client-id": "c"},
    {"user": "u", "client-id": None},
    {"user": None},
    {"client-id": "c"},
]


def described(ask: Asking, *components: tuple[str, int, str | None], strict: bool = False) -> list[Entity]:
    given = [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components]
    answer = ask(Api.DESCRIBE_CLIENT_QUOTAS, 1, components=given, strict=strict)
    assert answer["error_code"] == 0
    return [{part["entity_type"]: part["entity_name"] for part in entry["entity"]} for entry in answer["entries"]]


def with_quotas(ask: Asking) -> None:
    for entity in ENTITIES:
        ask.cluster._server.metadata.client_quotas[frozenset(entity.items())] = {"producer_byte_rate": 5.0}


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [0, 1, 2, 3, 4]),
        ([], True, []),
        ([("user", EXACT, "u")], False, [0, 1, 2]),
        ([("user", EXACT, "u")], True, [0]),
        ([("user", DEFAULT, None)], False, [3]),
        ([("user", ANY, None)], True, [0, 3]),
        ([("user", ANY, None), ("client-id", ANY, None)], True, [1, 2]),
        ([("user", EXACT, "u"), ("client-id", DEFAULT, None)], False, [2]),
        ([("client-id", EXACT, "c")], False, [1, 4]),
        ([("user", EXACT, "missing")], False, []),
    ],
)
def test_filter_returns_matching_entities(
    components: list[tuple[str, int, str | None]], strict: bool, found: list[int]
) -> None:
    with asking() as ask:
        with_quotas(ask)
        assert described(ask, *components, strict=strict) == [ENTITIES[n] for n in found]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("group", EXACT, "g")], Code.UNSUPPORTED_VERSION),
        ([("", EXACT, "g")], Code.INVALID_REQUEST),
        ([("user", 5, "g")], Code.INVALID_REQUEST),
        ([("user", EXACT, None)], Code.INVALID_REQUEST),
        ([("user", ANY, "u")], Code.INVALID_REQUEST),
        ([("user", EXACT, "u"), ("user", ANY, None)], Code.INVALID_REQUEST),
        ([("user", EXACT, "u"), ("ip", ANY, None)], Code.INVALID_REQUEST),
    ],
)
def test_invalid_filter_is_refused(components: list[tuple[str, int, str | None]], code: Code) -> None:
    with asking() as ask, pytest.raises(KafkaError) as refused:
        described(ask, *components)
    assert refused.value.code is code
