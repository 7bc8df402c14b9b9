"""Clients whose broker is replaced by one of another cluster at the same address."""

import logging

import confluent_kafka

from kafkalet import Broker


def test_librdkafka_logs_the_new_cluster_id_and_continues() -> None:
    logged: list[str] = []
    log = logging.Logger("client")
    log.addFilter(lambda record: logged.append(record.getMessage()) or False)
    offsets: list[int] = []
    with Broker(topics=["t"]) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers}, logger=log)
        producer.produce("t", b"1", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(30) == 0
    with Broker(port=port, topics=["t"]):
        producer.produce("t", b"2", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(30) == 0
        producer.poll(0)
    assert offsets == [0, 0]
    assert any("reports different ClusterId" in line for line in logged)


def test_client_that_names_the_cluster_it_expects_is_sent_to_bootstrap_again() -> None:
    from kafkalet_conformance.playing.connection import Connection

    with Broker(version="4.4") as broker:
        host, port = broker.bootstrap_servers.split(":")
        connection = Connection(host, int(port), None)
        expected = {"cluster_id": "another-cluster-id-000", "node_id": 1}
        body = {"client_software_name": "apache-kafka-java", "client_software_version": "4.4.0"} | expected
        assert connection.ask("ApiVersions", 5, body)["error_code"] == 129
        connection.close()
