"""`kafkalet.broker.apis.push_telemetry`: pushed metrics are validated and dropped."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .asking import Asking, asking


def push(ask: Asking, client_id: bytes | None = None, **fields: Any) -> int:
    """Return the error code of a first push, by a subscribed client or by an unsubscribed one with `client_id`."""
    asked = {"client_instance_id": client_id, "subscription_id": 0}
    if client_id is None:
        asked = ask(Api.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=bytes(16))
    given: dict[str, Any] = {name: asked[name] for name in ("client_instance_id", "subscription_id")}
    given |= {"terminating": False, "compression_type": 0, "metrics": b""} | fields
    code = ask(Api.PUSH_TELEMETRY, 0, **given)["error_code"]
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, Code.NONE),
        ({"metrics": b"anything"}, Code.NONE),
        ({"compression_type": 4}, Code.NONE),
        ({"compression_type": 9}, Code.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": bytes((1 << 20) + 1)}, Code.TELEMETRY_TOO_LARGE),
    ],
)
def test_pushed_metrics_are_validated(fields: dict[str, Any], code: Code) -> None:
    with asking() as ask:
        assert push(ask, **fields) == code


def test_clients_may_push_as_much_as_telemetry_max_bytes() -> None:
    with asking(config={"telemetry.max.bytes": 100}) as ask:
        subscription = ask(Api.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=bytes(16))
        assert subscription["telemetry_max_bytes"] == 100
        assert push(ask, metrics=bytes(100)) == Code.NONE
        assert push(ask, metrics=bytes(101)) == Code.TELEMETRY_TOO_LARGE


@pytest.mark.parametrize(
    ("client_id", "code"), [(bytes(16), Code.INVALID_REQUEST), (bytes(range(16)), Code.UNKNOWN_SUBSCRIPTION_ID)]
)
def test_push_of_unknown_client_is_refused(client_id: bytes, code: Code) -> None:
    with asking() as ask, pytest.raises(KafkaError) as refused:
        push(ask, client_id)
    assert refused.value.code == code
