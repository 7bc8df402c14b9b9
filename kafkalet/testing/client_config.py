"""The settings with which clients connect to a cluster: address, security protocol, login and certificates.

Each client names them differently. confluent-kafka and Java get certificates as text; kafka-python gets files,
and aiokafka gets an `ssl.SSLContext`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafkalet.broker import arguments
from kafkalet.jaas import login_module_text

from .client_access import OAUTHBEARER, Access, access_of

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster


def confluent_kafka(access: Access) -> dict[str, Any]:
    """Return the settings for confluent-kafka, and any other client that is made with librdkafka."""
    found: dict[str, Any] = {"bootstrap.servers": access.bootstrap_servers}
    if access.protocol != "PLAINTEXT":
        found["security.protocol"] = access.protocol.lower()
    if access.ca is not None:
        found["ssl.ca.pem"] = access.ca
    if access.certificate is not None:
        found |= {"ssl.certificate.pem": access.certificate, "ssl.key.pem": access.key}
    if access.mechanism == OAUTHBEARER:
        found |= {
            "sasl.mechanism": OAUTHBEARER,
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={access.user}",
        }
    elif access.mechanism is not None:
        found |= {
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.user,
            "sasl.password": access.password,
        }
    return found


def kafka_python(access: Access) -> dict[str, Any]:
    """Return the arguments of `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`."""
    found = _python(access)
    if access.ca is not None:
        found["ssl_cafile"] = access.file("ca.crt", access.ca)
    if access.certificate is not None and access.key is not None:
        found["ssl_certfile"] = access.file(f"{_file_name(access.user)}.crt", access.certificate)
        found["ssl_keyfile"] = access.file(f"{_file_name(access.user)}.key", access.key)
    if access.mechanism == OAUTHBEARER:
        from kafka.net.sasl.oauth import AbstractTokenProvider

        class Provider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
            def token(self) -> str:
                return access.token()

        found["sasl_oauth_token_provider"] = Provider()
    return found


def aiokafka(access: Access) -> dict[str, Any]:
    """Return the arguments of `AIOKafkaProducer`, `AIOKafkaConsumer` and `AIOKafkaAdminClient`."""
    found = _python(access)
    if access.protocol.endswith("SSL"):
        import ssl

        context = ssl.create_default_context(cadata=access.ca)
        if access.certificate is not None and access.key is not None:
            name = _file_name(access.user)
            context.load_cert_chain(
                access.file(f"{name}.crt", access.certificate), access.file(f"{name}.key", access.key)
            )
        found["ssl_context"] = context
    if access.mechanism == OAUTHBEARER:
        from aiokafka.abc import AbstractTokenProvider

        class Provider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
            async def token(self) -> str:
                return access.token()

        found["sasl_oauth_token_provider"] = Provider()
    return found


def _python(access: Access) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap_servers": access.bootstrap_servers}
    if access.protocol != "PLAINTEXT":
        found["security_protocol"] = access.protocol
    if access.mechanism is not None:
        found["sasl_mechanism"] = access.mechanism
        if access.mechanism != OAUTHBEARER:
            found |= {"sasl_plain_username": access.user, "sasl_plain_password": access.password}
    return found


def java(access: Access) -> dict[str, Any]:
    """Return the properties for clients in Java, and other programs on the JVM such as Spark and Kafka Connect."""
    found: dict[str, Any] = {"bootstrap.servers": access.bootstrap_servers}
    if access.protocol != "PLAINTEXT":
        found["security.protocol"] = access.protocol
    if access.ca is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": access.ca}
    if access.certificate is not None:
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": access.certificate,
            "ssl.keystore.key": access.key,
        }
    if access.mechanism is not None:
        options = {"username": access.user or "", "password": access.password or ""}
        if access.mechanism == OAUTHBEARER:
            options = {"unsecuredLoginStringClaim_sub": access.user or ""}
        found["sasl.mechanism"] = access.mechanism
        found["sasl.jaas.config"] = login_module_text(access.mechanism, options)
    return found


def client_config(
    cluster: EmbeddedCluster, user: str | None, client: str, mechanism: str | None, listener: str | None
) -> dict[str, Any]:
    """Return the settings of a client; see `Cluster.client_config`."""
    if arguments.text("client", client) not in CLIENTS:
        raise ValueError(f"client is {client!r}; the clients are {', '.join(CLIENTS)}")
    return CLIENTS[client](access_of(cluster, user, mechanism, listener))


def java_properties_file(access: Access) -> str:
    """Write the properties for clients in Java to a file, and return its path."""
    name = "-".join(filter(None, ("client", access.protocol.lower(), access.mechanism, access.user)))
    return access.file(f"{_file_name(name)}.properties", properties_text(java(access)))


def properties_text(properties: Mapping[str, str]) -> str:
    """Return properties as the text of a file that java.util.Properties can read."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    units = escaped.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)


def _file_name(text: str | None) -> str:
    return "".join(each if each.isalnum() or each in "-_" else f"%{ord(each):02x}" for each in text or "client")


CLIENTS: dict[str, Callable[[Access], dict[str, Any]]] = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "java": java,
}
