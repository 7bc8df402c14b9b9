"""`kafkalet.broker.apis.describe_cluster`: cases that the recordings of Apache Kafka do not cover."""

from kafkalet.protocol.api import Api

from .asking import asking


def test_online_brokers_are_returned() -> None:
    with asking(brokers=3, config={"broker.rack": "r"}) as ask:
        answer = ask(Api.DESCRIBE_CLUSTER, 2, node=2, include_cluster_authorized_operations=False)
        assert [(broker["broker_id"], broker["rack"]) for broker in answer["brokers"]] == [(1, "r"), (2, "r"), (3, "r")]
        assert answer["cluster_id"] == ask.cluster._server.metadata.cluster_id
        ask.cluster.broker(1).stop()
        answer = ask(Api.DESCRIBE_CLUSTER, 2, node=2, include_cluster_authorized_operations=False)
        assert [broker["broker_id"] for broker in answer["brokers"]] == [2, 3]
        assert answer["controller_id"] == 2
