"""SCRAM credentials that admin clients store, and the clients that log in with them."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism as Mechanism
from kafka.admin import UserScramCredentialDeletion as Deletion
from kafka.admin import UserScramCredentialUpsertion as Upsertion

import kafkalet

TIMEOUT_S = 60
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret";'
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
}


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    """The address of a broker on which admin logs in with PLAIN."""
    with kafkalet.Broker(config=CONFIG) as broker:
        yield broker.bootstrap_servers


def confluent_admin(bootstrap: str, mechanism: str, user: str, password: str) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "log_level": 0,
        }
    )


def kafka_python_admin(bootstrap: str, mechanism: str, user: str, password: str) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username=user,
        sasl_plain_password=password,
    )


def results(futures: dict[str, Any]) -> dict[str, Any]:
    return {name: future.result(TIMEOUT_S) for name, future in futures.items()}


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [(ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-256"), (ScramMechanism.SCRAM_SHA_512, "SCRAM-SHA-512")],
)
def test_confluent_client_logs_in_with_stored_credentials(secured: str, mechanism: ScramMechanism, name: str) -> None:
    admin, user = confluent_admin(secured, "PLAIN", "admin", "admin-secret"), f"confluent-{name}"
    stored = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 5000), b"a password")
    results(admin.alter_user_scram_credentials([stored], request_timeout=TIMEOUT_S))
    found = results(admin.describe_user_scram_credentials([user], request_timeout=TIMEOUT_S))[user]
    assert [(info.mechanism, info.iterations) for info in found.scram_credential_infos] == [(mechanism, 5000)]
    client = confluent_admin(secured, name, user, "a password")
    assert client.list_topics(timeout=TIMEOUT_S).cluster_id == admin.list_topics(timeout=TIMEOUT_S).cluster_id
    results(admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)]))
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        results(admin.describe_user_scram_credentials([user], request_timeout=TIMEOUT_S))


def test_confluent_client_describes_all_users(secured: str) -> None:
    admin = confluent_admin(secured, "PLAIN", "admin", "admin-secret")
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    names = {"one", "two"}
    results(admin.alter_user_scram_credentials([UserScramCredentialUpsertion(name, info, b"p") for name in names]))
    assert names <= set(admin.describe_user_scram_credentials(request_timeout=TIMEOUT_S).result(TIMEOUT_S))


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafka_python_logs_in_with_stored_credentials(secured: str, name: str) -> None:
    mechanism, user = Mechanism[name.replace("-", "_")], f"kafka-python-{name}"
    admin = kafka_python_admin(secured, "PLAIN", "admin", "admin-secret")
    assert admin.alter_user_scram_credentials([Upsertion(user, mechanism, "a password", iterations=5000)]) == {
        user: None
    }
    [found] = admin.describe_user_scram_credentials([user])[user]["credential_infos"]
    assert (found["mechanism"], found["iterations"]) == (mechanism, 5000)
    client = kafka_python_admin(secured, name, user, "a password")
    assert isinstance(client.list_topics(), list)
    client.close()
    assert admin.alter_user_scram_credentials([Deletion(user, mechanism)]) == {user: None}
    assert admin.describe_user_scram_credentials([user])[user]["credential_infos"] == []
    admin.close()
