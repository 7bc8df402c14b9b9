"""Clients in other languages log in to secured brokers, with each mechanism, TLS and certificates.

With each login, a program produces to a topic that the ACLs allow, consumes it in a group, and gets its library's
authorization errors for another topic and another group. A login whose name begins with `wrong` is refused with its
authentication error. With the login `again`, the client authenticates again before its session ends. The clusters have
three brokers, so that clients also log in at the addresses that they get from metadata.

A program prints `ok NAME` after each login and stops at the first failure. Run them with `make clients`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.testing.client_config import properties_text

from .test_toolchain_steps import BROKERS, named, steps
from .toolchains import Workshop

pytestmark = pytest.mark.toolchain

USER, PASSWORD, WRONG = "alice", "right-password", "wrong-password"
SASL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
LISTENERS = "SASL_PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0,AGAIN://127.0.0.1:0"
CONFIG = {
    "listeners": LISTENERS,
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,AGAIN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(SASL),
    "listener.name.again.connections.max.reauth.ms": "2500",  # franz-go is a second early, and a second is the minimum
    "delegation.token.secret.key": "key",
}
ACLS = [f"{user}:{acl}" for user in (USER, "ANONYMOUS") for acl in ("all:topic:orders*", "read:group:billing*")]

LOGINS: dict[str, dict[str, str]] = {
    "TLS": {"listener": "SSL"},
    "certificate": {"user": USER, "listener": "SSL"},
    **{
        name + suffix: {"user": USER, "mechanism": name, "listener": listener}
        for name in SASL
        for suffix, listener in (("", "SASL_PLAINTEXT"), (" over TLS", "SASL_SSL"))
    },
    "again": {"user": USER, "mechanism": "SCRAM-SHA-512", "listener": "AGAIN"},
    **{
        f"wrong {name}{suffix}": {"user": USER, "mechanism": name, "listener": listener}
        for name in SASL[:3]
        for suffix, listener in (("", "SASL_PLAINTEXT"), (" over TLS", "SASL_SSL"))
    },
}

_prefixes = (f"secured{number}" for number in range(10_000))


@pytest.fixture(scope="module", params=BROKERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(
        brokers=3,
        version=request.param,
        tls=True,
        users={USER: PASSWORD},
        super_users={"admin": PASSWORD},
        acls=ACLS,
        config=CONFIG,
    ) as running:
        running.topic("payments", partitions=1)
        yield running


@pytest.fixture
def prefix(cluster: kafkalet.Cluster) -> str:
    name = next(_prefixes)
    cluster.topic(f"orders-{name}", partitions=3)
    return name


def write_settings(cluster: kafkalet.Cluster, folder: Path, client: str, logins: dict[str, dict[str, str]]) -> None:
    """Write a file for each login: properties for Java and kcat; JSON, with the names of librdkafka, for others."""
    for name, login in logins.items():
        settings = cluster.client_config(client="java" if client == "java" else "confluent-kafka", **login)
        if client == "java":
            file, text = f"{name}.properties", properties_text(settings)
        elif client == "kcat":
            file, text = f"{name}.properties", kcat_text(settings, folder)
        else:
            if login.get("mechanism") == "OAUTHBEARER":
                provider = cluster.client_config(client="kafka-python", **login)["sasl_oauth_token_provider"]
                settings["token"] = provider.token()
            file, text = f"{name}.json", json.dumps(settings)
        if name.startswith("wrong"):
            text = text.replace(PASSWORD, WRONG)
        (folder / file).write_text(text)


def kcat_text(settings: dict[str, Any], folder: Path) -> str:
    """Return the text of a file for `kcat -F`, with certificates in files because each setting is one line."""
    lines = []
    for name, value in settings.items():
        if name.endswith(".pem"):
            (folder / name).write_text(value)
            name, value = name.replace(".pem", ".location"), folder / name
        lines.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}\n")
    return "".join(lines)


def assert_authenticated_again(cluster: kafkalet.Cluster) -> None:
    """Check that a connection that the login `again` produced with has authenticated again."""
    requests = [each for each in cluster.requests if each.client_id == "again"]
    produced = {each.connection for each in requests if each.api == "Produce"}
    logins = Counter(each.connection for each in requests if each.api == "SaslHandshake" and not each.error)
    assert max(logins[connection] for connection in produced) >= 2
    assert {each.api for each in requests if each.error} <= {"ApiVersions"}


@pytest.mark.parametrize("release", ["2.8.2", "4.4.0"])
def test_java_client_logs_in(
    workshop: Workshop, release: str, cluster: kafkalet.Cluster, prefix: str, tmp_path: Path
) -> None:
    logins = {**LOGINS, "admin": {"user": "admin", "mechanism": "SCRAM-SHA-256", "listener": "SASL_SSL"}}
    write_settings(cluster, tmp_path, "java", logins)
    with kafkalet.Broker(tls=True) as other:  # its authority is another one
        settings = {
            name: value for name, value in other.client_config(USER, client="java").items() if "keystore" in name
        }
    settings = cluster.client_config(USER, client="java", listener="SSL") | settings
    (tmp_path / "wrong certificate.properties").write_text(properties_text(settings))
    expected = ", ".join(sorted([*logins, "wrong certificate"])).replace("admin", "acls, credentials, delegation token")
    cluster.requests.clear()
    assert steps(*workshop.java("Secured", release), tmp_path, prefix) == named(expected)
    assert_authenticated_again(cluster)


@pytest.mark.parametrize("program", ["securedfranz", "securedsarama"])
def test_go_clients_log_in(
    workshop: Workshop, program: str, cluster: kafkalet.Cluster, prefix: str, tmp_path: Path
) -> None:
    write_settings(cluster, tmp_path, "confluent-kafka", LOGINS)
    cluster.requests.clear()
    assert steps(*workshop.go(program), tmp_path, prefix) == sorted(LOGINS)
    assert_authenticated_again(cluster)


def test_kafkajs_client_logs_in(workshop: Workshop, cluster: kafkalet.Cluster, prefix: str, tmp_path: Path) -> None:
    write_settings(cluster, tmp_path, "confluent-kafka", LOGINS)
    cluster.requests.clear()
    assert steps(*workshop.node("secured.js"), tmp_path, prefix) == sorted(LOGINS)
    assert_authenticated_again(cluster)


def test_kcat_logs_in(workshop: Workshop, cluster: kafkalet.Cluster, prefix: str, tmp_path: Path) -> None:
    logins = {name: login for name, login in LOGINS.items() if name != "again"}
    write_settings(cluster, tmp_path, "kcat", logins)
    assert sorted(steps(*workshop.kcat("secured.sh"), tmp_path, prefix)) == sorted(logins)
