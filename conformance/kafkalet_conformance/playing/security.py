"""The security of connections to a judged broker, from a properties file for clients of Java or librdkafka."""

from kafkalet.client_security import SECURITY_PROPERTIES, Security
from kafkalet.jaas import PASSWORD_MECHANISMS, login_module_text
from kafkalet.properties import InvalidProperty, read_properties

ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.certificate.location": "ssl.keystore.location",
}
"""librdkafka's names of properties that Kafka's Java client names differently."""
PEM = {"ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM"}
"""Defaults of librdkafka. Those of Java are formats that are not supported."""


def from_properties(text: str) -> tuple[Security, str, list[str]]:
    """Read the properties of a Kafka client; return the security, `bootstrap.servers` or "", and ignored names.

    Raises InvalidProperty for values that cannot be used.
    """
    given = PEM | {ALIASES.get(name, name): value for name, value in read_properties(text).items()}
    if "security.protocol" in given:
        given["security.protocol"] = given["security.protocol"].upper()  # librdkafka's may be in lower case
    login = {name: given.pop(f"sasl.{name}") for name in ("username", "password") if f"sasl.{name}" in given}
    if login and (mechanism := given.get("sasl.mechanism")) in PASSWORD_MECHANISMS:
        given.setdefault("sasl.jaas.config", login_module_text(mechanism, login))
    bootstrap = given.pop("bootstrap.servers", "")
    security = Security.of(given)
    if security.credentials and not security.credentials.username:  # the quotas of such a user cannot be looked up
        raise InvalidProperty("sasl.mechanism", security.credentials.mechanism, "a user with a name is required")
    return security, bootstrap, sorted(SECURITY_PROPERTIES.unknown(given))
