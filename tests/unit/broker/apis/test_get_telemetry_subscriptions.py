"""`kafkalet.broker.apis.get_telemetry_subscriptions`: the ids of clients."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError

from .asking import asking


def test_new_client_receives_an_id() -> None:
    with asking() as ask:
        answer = ask(Api.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=bytes(16))
        assert answer["client_instance_id"] != bytes(16)
        assert answer["accepted_compression_types"] == [4, 3, 1, 2]
        assert (answer["requested_metrics"], answer["push_interval_ms"]) == ([], 300_000)


def test_client_keeps_its_id() -> None:
    with asking() as ask:
        own = bytes(range(16))
        assert ask(Api.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=own)["client_instance_id"] == own
        with pytest.raises(KafkaError):
            ask(Api.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=own)


def test_telemetry_is_not_advertised() -> None:
    with asking() as ask:
        listed = {key["api_key"] for key in ask(Api.API_VERSIONS, 0)["api_keys"]}
        assert not listed & {Api.GET_TELEMETRY_SUBSCRIPTIONS, Api.PUSH_TELEMETRY}
