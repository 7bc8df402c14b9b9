"""Routes of the cluster: its brokers, release, addresses and time."""

from kafkalet.control import state
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Nullable, Object, Text
from kafkalet.version import VERSION

routes = Routes("cluster", "The cluster.")

CLUSTER = Object(
    "Cluster",
    "The cluster.",
    Field("cluster_id", Text(), "The id of the cluster."),
    Field("kafka_version", Text(), "The release of Apache Kafka that is emulated, or `newest`."),
    Field("kafkalet_version", Text(), "The version of kafkalet."),
    Field("bootstrap_servers", Text(), "The running brokers as `host:port`, separated by commas."),
    Field(
        "controller_id",
        Nullable(Integer(0, INT32_MAX)),
        "The broker to which clients send admin requests, or null if none is running.",
    ),
    Field("now_ms", Integer(), "The time of the brokers, in milliseconds since 1970 (UTC)."),
    Field("brokers", ListOf(state.BROKER), "The brokers, by id."),
)


@routes.get("/v1/cluster", response=CLUSTER)
def get_cluster(call: Call) -> Json:
    """Return the brokers, their addresses and the emulated release."""
    server = call.cluster._server

    def look() -> Json:
        metadata = server.metadata
        return {
            "cluster_id": metadata.cluster_id,
            "kafka_version": server.release.name,
            "kafkalet_version": VERSION,
            "bootstrap_servers": call.cluster.bootstrap_servers if metadata.endpoints else "",
            "controller_id": None if metadata.controller_id < 0 else metadata.controller_id,
            "now_ms": call.cluster.now_ms(),
            "brokers": state.brokers(server),
        }

    return server.call(look)
