"""Spark and `kafkalog` at a broker with TLS, users and ACLs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kafkalet
from kafkalet_spark.jobs import main

from . import connector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES = [b"one", b"two", b"three"]


@pytest.fixture(scope="module")
def secured() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(
        tls=True,
        users={"alice": "alice-secret"},
        acls=["alice:read,describe:topic:orders", "alice:read:group:*"],
        topics=["orders", "payments"],
        config={"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"},
    ) as broker:
        for value in VALUES:
            broker.topic("orders").send(value)
        yield broker


def read(spark: SparkSession, broker: kafkalet.Broker, source: str, mechanism: str, topic: str = "orders") -> DataFrame:
    properties = broker.client_config("alice", client="java", mechanism=mechanism)
    options = {f"kafka.{name}": value for name, value in properties.items()}
    return spark.read.format(source).options(**options, subscribe=topic).load()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
def test_kafkalog_logs_in_over_tls(spark: SparkSession, secured: kafkalet.Broker, mechanism: str) -> None:
    frame = read(spark, secured, "kafkalog", mechanism)
    assert [bytes(row.value) for row in frame.orderBy("offset").collect()] == VALUES


def test_kafkalog_reports_a_topic_that_the_user_may_not_read(spark: SparkSession, secured: kafkalet.Broker) -> None:
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        read(spark, secured, "kafkalog", "PLAIN", "payments").collect()


def test_spark_connector_logs_in_over_tls(spark: SparkSession, secured: kafkalet.Broker) -> None:
    try:
        connector.jars()
    except connector.Unavailable as reason:
        pytest.skip(str(reason))
    frame = read(spark, secured, "kafka", "SCRAM-SHA-256")
    assert [bytes(row.value) for row in frame.orderBy("offset").collect()] == VALUES


def test_dump_logs_in_over_tls(
    spark: SparkSession, secured: kafkalet.Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = secured.client_config("alice", client="java", mechanism="SCRAM-SHA-256")
    options = [f"--option=kafka.{name}={value}" for name, value in properties.items() if name != "bootstrap.servers"]
    out = tmp_path / "out"
    command = [
        "dump",
        "--bootstrap",
        secured.bootstrap_servers,
        "--subscribe",
        "orders",
        "--out",
        str(out),
        "--format",
        "jsonl",
        *options,
    ]
    assert main(command, spark=spark) == 0, capsys.readouterr().err
    lines = [line for file in out.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert [json.loads(line)["value"] for line in lines] == [value.decode() for value in VALUES]
