"""ApiVersions in every version, with the fields that describe the client and the broker that it expects."""

from kafkalet_conformance.building import ScenarioBuilder
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("metadata")

UNKNOWN_CLUSTER = "another-cluster-id-000"


@scenario("KIP-35 KIP-511 ApiVersionManager", level="must")
def api_versions_every_version(ask: ScenarioBuilder) -> None:
    """ApiVersions succeeds in every version."""
    client = {"client_software_name": "conformance", "client_software_version": "1.0"}
    ask.each_version("ApiVersions", {"v#": client}, only=["error_code"])


@scenario("KafkaApis", KAFKA_4_4, ApiVersions=5)
def api_versions_expected_broker(ask: ScenarioBuilder) -> None:
    """ApiVersions compares the cluster id and node id that a client expects with those of the broker."""
    client = {"client_software_name": "conformance", "client_software_version": "1.0"}
    ask.setup("DescribeCluster", 0, {}, bind={"cluster": "cluster_id"})
    for case, cluster_id, node_id in (
        ("cluster", "$cluster", -1),
        ("cluster and node", "$cluster", 1),
        ("another cluster", UNKNOWN_CLUSTER, -1),
        ("another cluster and the node", UNKNOWN_CLUSTER, 1),
        ("another node", "$cluster", 4711),
        ("empty cluster id", "", -1),
        ("node without cluster", None, 1),
        ("another node without cluster", None, 4711),
    ):
        body = client | {"cluster_id": cluster_id, "node_id": node_id}
        ask.request(case, "ApiVersions", 5, body, only=["error_code"])
