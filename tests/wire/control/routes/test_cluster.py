"""Tests of the routes of the cluster."""

from kafka import KafkaAdminClient

from kafkalet.version import VERSION
from tests.wire.control.asking import Asking, asking


def test_cluster_names_its_brokers_and_release() -> None:
    with asking(brokers=2, version="3.9", racks=["a", "b"]) as api:
        cluster = api.get("/v1/cluster")
        assert (cluster["kafka_version"], cluster["kafkalet_version"]) == ("3.9", VERSION)
        assert cluster["bootstrap_servers"] == api.cluster.bootstrap_servers
        assert [broker["rack"] for broker in cluster["brokers"]] == ["a", "b"]
        admin = KafkaAdminClient(bootstrap_servers=cluster["bootstrap_servers"])
        described = admin.describe_cluster()
        admin.close()
        assert (described["cluster_id"], described["controller_id"]) == (
            cluster["cluster_id"],
            cluster["controller_id"],
        )


def test_cluster_without_running_brokers_has_no_addresses(api: Asking) -> None:
    api.post("/v1/brokers/1/stop")
    cluster = api.get("/v1/cluster")
    assert (cluster["bootstrap_servers"], cluster["controller_id"]) == ("", None)
