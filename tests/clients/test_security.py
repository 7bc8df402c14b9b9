"""The Python clients log in with the settings of `client_config`, with each mechanism, TLS and client certificates.

A client may use the topics that the ACLs of its user allow, and gets its authorization error for another topic.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]
from confluent_kafka import Consumer, KafkaError, Producer
from kafka import KafkaConsumer, KafkaProducer

import kafkalet

LISTENERS = "SASL_PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
SECONDS = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(
        tls=True,
        users={"alice": "secret"},
        super_users={"admin": "admin-secret"},
        acls=[
            "alice:all:topic:orders*",
            "alice:read:group:billing*",
            "ANONYMOUS:all:topic:public*",
            "ANONYMOUS:read:group:public*",
        ],
        config={"listeners": LISTENERS, "sasl.enabled.mechanisms": ",".join(MECHANISMS)},
    ) as started:
        yield started


# What each client does: it sends a value, reads the first value, or returns the name of the error.


def confluent_send(config: dict[str, Any], topic: str) -> str | None:
    errors: list[KafkaError | None] = []
    producer = Producer({**config, "message.timeout.ms": int(SECONDS * 1000)})
    producer.produce(topic, b"one", on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS)
    [error] = errors
    return None if error is None else error.name()


def confluent_read(config: dict[str, Any], topic: str, group: str) -> bytes | None:
    consumer = Consumer({**config, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.error() is None, message.error()
        value = message.value()
        assert value is None or isinstance(value, bytes)
        return value
    finally:
        consumer.close()


def assert_refused(config: dict[str, Any], name: str) -> None:
    """Wait until a client of librdkafka reports this error."""
    errors: list[KafkaError] = []
    producer = Producer({**config, "error_cb": errors.append})
    ends_s = time.monotonic() + SECONDS
    while not any(error.name() == name for error in errors):
        assert time.monotonic() < ends_s, errors
        producer.poll(0.1)


def kafka_python_send(config: dict[str, Any], topic: str) -> str | None:
    producer = KafkaProducer(**config)
    try:
        producer.send(topic, b"one").get(SECONDS)
    except Exception as error:  # noqa: BLE001 - its name is compared
        return type(error).__name__
    finally:
        producer.close()
    return None


def kafka_python_read(config: dict[str, Any], topic: str, group: str) -> bytes | None:
    consumer = KafkaConsumer(
        topic, group_id=group, auto_offset_reset="earliest", consumer_timeout_ms=int(SECONDS * 1000), **config
    )
    try:
        value = next(iter(consumer)).value
        assert isinstance(value, bytes)
        return value
    finally:
        consumer.close()


def aiokafka_send(config: dict[str, Any], topic: str) -> str | None:
    async def send() -> str | None:
        producer = AIOKafkaProducer(**config)
        await producer.start()
        try:
            await producer.send_and_wait(topic, b"one")
        except Exception as error:  # noqa: BLE001 - its name is compared
            return type(error).__name__
        finally:
            await producer.stop()
        return None

    return asyncio.run(asyncio.wait_for(send(), SECONDS))


def aiokafka_read(config: dict[str, Any], topic: str, group: str) -> bytes | None:
    async def read() -> bytes:
        consumer = AIOKafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", **config)
        await consumer.start()
        try:
            value = (await consumer.getone()).value
            assert isinstance(value, bytes)
            return value
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(read(), SECONDS))


Send = Callable[[dict[str, Any], str], str | None]
Read = Callable[[dict[str, Any], str, str], bytes | None]
CLIENTS: dict[str, tuple[Send, Read, str]] = {
    "confluent-kafka": (confluent_send, confluent_read, "TOPIC_AUTHORIZATION_FAILED"),
    "kafka-python": (kafka_python_send, kafka_python_read, "TopicAuthorizationFailedError"),
    "aiokafka": (aiokafka_send, aiokafka_read, "TopicAuthorizationFailedError"),
}
"""How each client sends and reads, and its error for a topic that the user may not use."""
LOGINS = [
    *(pytest.param({"mechanism": name, "listener": "SASL_PLAINTEXT"}, id=name) for name in MECHANISMS),
    *(pytest.param({"mechanism": name, "listener": "SASL_SSL"}, id=f"TLS-{name}") for name in MECHANISMS),
    pytest.param({"listener": "SSL"}, id="certificate"),
]


_numbers = itertools.count()


@pytest.fixture
def topic(broker: kafkalet.Broker) -> str:
    name = f"orders-{next(_numbers)}"
    broker.topic(name, partitions=1)
    return name


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("login", LOGINS)
def test_user_sends_and_reads_what_the_acls_allow(
    broker: kafkalet.Broker, client: str, login: dict[str, str], topic: str
) -> None:
    send, read, _ = CLIENTS[client]
    config = broker.client_config("alice", client=client, **login)
    assert send(config, topic) is None
    assert read(config, topic, f"billing-{topic}") == b"one"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("login", [LOGINS[0], LOGINS[-1]])
def test_topic_without_an_acl_gives_the_authorization_error_of_the_client(
    broker: kafkalet.Broker, client: str, login: dict[str, str]
) -> None:
    broker.topic("payments", partitions=1)
    send, _, expected = CLIENTS[client]
    assert send(broker.client_config("alice", client=client, **login), "payments") == expected


@pytest.mark.parametrize("client", CLIENTS)
def test_client_without_certificate_is_anonymous(broker: kafkalet.Broker, client: str) -> None:
    send, read, denied = CLIENTS[client]
    config = broker.client_config(client=client, listener="SSL")
    name = f"public-{client}"
    broker.topic(name, partitions=1)
    assert send(config, name) is None
    assert read(config, name, name) == b"one"
    broker.topic("orders-secret", partitions=1)
    assert send(config, "orders-secret") == denied


@pytest.mark.parametrize("client", CLIENTS)
def test_super_user_needs_no_acl(broker: kafkalet.Broker, client: str) -> None:
    broker.topic("payments", partitions=1)
    send, _, _ = CLIENTS[client]
    assert send(broker.client_config("admin", client=client), "payments") is None


def test_added_user_logs_in_until_removed(broker: kafkalet.Broker, topic: str) -> None:
    broker.users.add("carol", "first")
    broker.users.add("carol", "second")
    broker.acls.add("carol:write:topic:orders*")
    for mechanism in MECHANISMS[:3]:
        config = broker.client_config("carol", mechanism=mechanism)
        assert config["sasl.password"] == "second"
        assert confluent_send(config, topic) is None
    config = broker.client_config("carol")
    broker.users.remove("carol")
    assert_refused(config, "_AUTHENTICATION")


def test_removed_acl_denies_the_next_request(broker: kafkalet.Broker, topic: str) -> None:
    broker.users.add("dave", "secret")
    broker.acls.add(f"dave:write:topic:{topic}")
    config = broker.client_config("dave")
    assert confluent_send(config, topic) is None
    broker.acls.remove(f"dave:write:topic:{topic}")
    assert confluent_send(config, topic) == "TOPIC_AUTHORIZATION_FAILED"


def test_wrong_password_is_an_authentication_error(broker: kafkalet.Broker) -> None:
    assert_refused(broker.client_config("alice") | {"sasl.password": "wrong"}, "_AUTHENTICATION")


def test_certificate_of_another_authority_is_not_trusted() -> None:
    with kafkalet.Broker(tls=True) as one, kafkalet.Broker(tls=True) as other:
        config = one.client_config() | {"ssl.ca.pem": other.client_config()["ssl.ca.pem"]}
        assert_refused(config, "_SSL")
