"""Kafka's own tools manage SCRAM credentials and delegation tokens, and log in with both."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kafkalet
from tests.oracle.apache_kafka import CACHE, missing, version_of
from tests.wire.broker.apis.secured import WITH_TOKENS

pytestmark = pytest.mark.oracle

RELEASE = "3.9"
JARS = CACHE / "lib" / version_of(RELEASE)
CONFIGS, TOKENS = "kafka.admin.ConfigCommand", "org.apache.kafka.tools.DelegationTokenCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Run a tool against kafkalet, and return its output. `jaas` determines who logs in, by default admin."""
    if reason := missing(RELEASE):
        pytest.skip(reason)
    if not list(JARS.glob("kafka-tools-*.jar")):
        pytest.skip(f"{JARS} has no kafka-tools jar: install it with `mvn dependency:copy`")
    client = tmp_path / "client.properties"

    with kafkalet.Broker(version=RELEASE, config=WITH_TOKENS) as broker:

        def run(main: str, *arguments: str, jaas: str = PLAIN) -> str:
            mechanism = "PLAIN" if jaas == PLAIN else "SCRAM-SHA-256"
            client.write_text(
                f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
            )
            command = ["java", "-Xmx128m", "-cp", f"{JARS}/*", main, "--bootstrap-server", broker.bootstrap_servers]
            command += ["--command-config", str(client), *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

        yield run


def test_credentials_are_managed_by_kafka_configs(tool: Callable[..., str]) -> None:
    carol = ("--entity-type", "users", "--entity-name", "carol")
    tool(CONFIGS, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=a secret]", *carol)
    assert "carol' are SCRAM-SHA-256=iterations=8192" in tool(CONFIGS, "--describe", *carol)
    tool(TOPICS, "--list", jaas=f'{SCRAM} username="carol" password="a secret";')
    tool(CONFIGS, "--alter", "--delete-config", "SCRAM-SHA-256", *carol)
    assert "SCRAM" not in tool(CONFIGS, "--describe", *carol)


def test_tokens_are_managed_by_kafka_delegation_tokens(tool: Callable[..., str]) -> None:
    shown = tool(TOKENS, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice")
    found = re.search(r"^(\S{22})\s+(\S{86}==)\s+User:admin\s+User:admin\s+\[User:alice\]", shown, re.MULTILINE)
    assert found, shown
    token_id, secret = found.groups()
    assert token_id in tool(TOKENS, "--describe", "--owner-principal", "User:admin")
    tool(TOKENS, "--renew", "--renew-time-period", "-1", "--hmac", secret)
    token = f'{SCRAM} username="{token_id}" password="{secret}" tokenauth="true";'
    tool(TOPICS, "--create", "--topic", "by-token", jaas=token)
    assert "by-token" in tool(TOPICS, "--list")
    tool(TOKENS, "--expire", "--expiry-time-period", "-1", "--hmac", secret)
    assert token_id not in tool(TOKENS, "--describe", "--owner-principal", "User:admin")
