"""The security of connections, from the properties of a Kafka client."""

import pytest

from kafkalet.client_security import Security
from kafkalet.properties import InvalidProperty
from kafkalet.sasl_client import Credentials
from kafkalet_conformance.playing.security import from_properties

JAAS = r'org.apache.kafka.common.security.scram.ScramLoginModule required username="al\\"ice" password="s;3";'

TOKEN = "x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=u;"


def test_connections_are_not_secured_by_default() -> None:
    assert from_properties("") == (Security(), "", [])


def test_sasl_is_read_from_the_names_of_the_java_client() -> None:
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={JAAS}"
    security, _, ignored = from_properties(text)
    assert security == Security(None, Credentials("SCRAM-SHA-512", 'al"ice', "s;3"))
    assert ignored == []


def test_sasl_is_read_from_the_names_of_librdkafka() -> None:
    text = "security.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\nsasl.username=u\nsasl.password=p"
    assert from_properties(text)[0] == Security(None, Credentials("PLAIN", "u", "p"))


def test_other_properties_are_named() -> None:
    text = "bootstrap.servers=a:1,b:2\ngroup.id=g\nacks=all"
    assert from_properties(text) == (Security(), "a:1,b:2", ["acks", "group.id"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("security.protocol=TLS", "String must be one of: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism: supported mechanisms are PLAIN, SCRAM-SHA-256"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=u", "password is missing"),
        (f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config={TOKEN}", "with a name"),
        ("security.protocol=SSL\nssl.truststore.type=JKS\nssl.truststore.location=f", "only PEM is supported"),
        ("security.protocol=SSL\nssl.truststore.location=/no/such", "TLS: /no/such cannot be read"),
        ("security.protocol=SSL\nssl.truststore.certificates=nonsense", "TLS: the certificates cannot be read"),
    ],
)
def test_setting_that_cannot_be_used_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidProperty) as caught:
        from_properties(text)
    assert reason in str(caught.value)
