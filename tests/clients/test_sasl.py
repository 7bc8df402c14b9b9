"""Clients log in with each SASL mechanism, produce and consume. A wrong password is an authentication error."""

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import aiokafka
import aiokafka.abc
import aiokafka.errors
import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokenProvider

import kafkalet
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password

from .drivers import TIMEOUT_S, kafka

USER, PASSWORD, WRONG = "alice", 'a "secret", =;\\', "wrong"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = ("PLAIN", *SCRAM, OAUTHBEARER)
TOPIC, VALUE = "t", b"value"
PREFIX = "listener.name.sasl_plaintext."
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    f"{PREFIX}plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'user_{USER}="' + PASSWORD.replace("\\", "\\\\").replace('"', '\\"') + '";'
    ),
    f"{PREFIX}oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredValidatorRequiredScope="kafka";'
    ),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(config=CONFIG) as made:
        _store_credentials(made)
        made.topic(TOPIC).create()
        yield made


def _store_credentials(broker: kafkalet.Broker) -> None:
    def store() -> None:
        for kind in ScramMechanism:
            broker._server.metadata.scram_credentials[USER, kind] = credential_of_password(kind, PASSWORD)

    broker._server.call(store)


def access_token(scope: str, lifetime_s: int = 3600) -> str:
    """Return a token without a signature."""
    now_s = int(time.time())
    claims = {"sub": USER, "iat": now_s, "exp": now_s + lifetime_s, "scope": [scope]}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""])


def scope(password: str) -> str:
    """Return the scope of a token that takes the place of this password."""
    return "kafka" if password == PASSWORD else "other"


class KafkaPythonTokens(KafkaPythonTokenProvider):  # type: ignore[misc]
    def __init__(self, password: str) -> None:
        super().__init__()
        self._token = access_token(scope(password))

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {"trace": "x"}


class AioKafkaTokens(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, password: str) -> None:
        self._token = access_token(scope(password))

    async def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {"trace": "x"}


def python_settings(broker: kafkalet.Broker, mechanism: str, password: str, tokens: type[Any]) -> dict[str, Any]:
    """Return the settings of kafka-python and aiokafka, which are named alike."""
    found: dict[str, Any] = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism == OAUTHBEARER:
        return found | {"sasl_oauth_token_provider": tokens(password)}
    return found | {"sasl_plain_username": USER, "sasl_plain_password": password}


def confluent_settings(broker: kafkalet.Broker, mechanism: str, password: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
    }
    if mechanism == OAUTHBEARER:
        return found | {
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={USER} scope={scope(password)} extension_trace=x",
        }
    return found | {"sasl.username": USER, "sasl.password": password}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in_and_transfers_records(broker: kafkalet.Broker, mechanism: str) -> None:
    settings = python_settings(broker, mechanism, PASSWORD, KafkaPythonTokens)
    producer = kafka.KafkaProducer(**settings)
    offset = producer.send(TOPIC, VALUE).get(TIMEOUT_S).offset
    producer.close()
    consumer = kafka.KafkaConsumer(**settings, consumer_timeout_ms=TIMEOUT_S * 1000)
    partition = kafka.TopicPartition(TOPIC, 0)
    consumer.assign([partition])
    consumer.seek(partition, offset)
    assert next(consumer).value == VALUE
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_does_not_connect_with_wrong_credentials(broker: kafkalet.Broker, mechanism: str) -> None:
    """The client retries until a timeout. With Apache Kafka, too, it may notice the closed connection before it reads
    the error.
    """
    broker.requests.clear()
    with pytest.raises(kafka.errors.KafkaTimeoutError):
        kafka.KafkaAdminClient(**python_settings(broker, mechanism, WRONG, KafkaPythonTokens), bootstrap_timeout_ms=300)
    errors = [each.error for each in broker.requests if each.api == "SaslAuthenticate"]
    assert "SASL_AUTHENTICATION_FAILED" in errors


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_logs_in_and_transfers_records(broker: kafkalet.Broker, mechanism: str) -> None:
    async def transfer() -> bytes:
        settings = python_settings(broker, mechanism, PASSWORD, AioKafkaTokens)
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            sent = await producer.send_and_wait(TOPIC, VALUE)
        async with aiokafka.AIOKafkaConsumer(**settings) as consumer:
            partition = aiokafka.TopicPartition(TOPIC, 0)
            consumer.assign([partition])
            consumer.seek(partition, sent.offset)
            found: bytes = (await consumer.getone()).value
            return found

    assert asyncio.run(asyncio.wait_for(transfer(), TIMEOUT_S)) == VALUE


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])  # it does not read the broker's response to a token
def test_aiokafka_reports_wrong_credentials(
    broker: kafkalet.Broker, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def log_in() -> None:
        producer = aiokafka.AIOKafkaProducer(**python_settings(broker, mechanism, WRONG, AioKafkaTokens))
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(aiokafka.errors.KafkaError):
        asyncio.run(asyncio.wait_for(log_in(), TIMEOUT_S))
    assert "SaslAuthenticationFailed" in caplog.text


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka_logs_in_and_transfers_records(broker: kafkalet.Broker, mechanism: str) -> None:
    settings = confluent_settings(broker, mechanism, PASSWORD)
    offsets: list[int] = []
    producer = confluent_kafka.Producer(settings)
    producer.produce(TOPIC, VALUE, on_delivery=lambda error, message: offsets.append(message.offset()))
    producer.flush(TIMEOUT_S)
    consumer = confluent_kafka.Consumer(settings | {"group.id": "g"})
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, offsets[0])])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    assert message.value() == VALUE
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka_reports_wrong_credentials(broker: kafkalet.Broker, mechanism: str) -> None:
    errors: list[int] = []
    client = AdminClient(confluent_settings(broker, mechanism, WRONG) | {"error_cb": lambda e: errors.append(e.code())})
    end_s = time.monotonic() + TIMEOUT_S
    while confluent_kafka.KafkaError._AUTHENTICATION not in errors and time.monotonic() < end_s:
        client.poll(0.1)
    assert confluent_kafka.KafkaError._AUTHENTICATION in errors


def test_client_authenticates_again_before_its_session_ends() -> None:
    with kafkalet.Broker(config=CONFIG | {"connections.max.reauth.ms": "1500"}) as broker:
        _store_credentials(broker)
        broker.topic(TOPIC).create()
        producer = confluent_kafka.Producer(confluent_settings(broker, "SCRAM-SHA-256", PASSWORD))
        connections: set[int] = set()
        logins = 0
        end_s = time.monotonic() + TIMEOUT_S
        while logins < 3 and time.monotonic() < end_s:
            producer.produce(TOPIC, VALUE)
            assert producer.flush(TIMEOUT_S) == 0
            produced = {each.connection for each in broker.requests if each.api == "Produce"}
            logins = sum(each.api == "SaslHandshake" and each.connection in produced for each in broker.requests)
            connections |= produced
            producer.poll(0.05)
        assert logins >= 3
        assert len(connections) == 1
