"""Routes of the brokers: stop, start and roll them, refuse connections, and hold back replicas."""

from __future__ import annotations

from kafkalet.control import state
from kafkalet.control.failures import Refusal
from kafkalet.control.fields import NODE_ID, TIMEOUT
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Nullable, Object, Text

routes = Routes("brokers", "The brokers of the cluster.")

BROKERS = Object("Brokers", "The brokers.", Field("brokers", ListOf(state.BROKER), "The brokers, by id."))
REPLICAS = Object(
    "Replicas",
    "Replicas of a broker: all, those of one topic, or a single one.",
    Field("topic", Nullable(Text()), "The topic. The default is all topics.", None),
    Field("partition", Nullable(Integer(0, INT32_MAX)), "The partition. The default is all partitions.", None),
)

ROLL = Object("Roll", "A rolling restart.", TIMEOUT)


@routes.get("/v1/brokers", response=BROKERS)
def list_brokers(call: Call) -> Json:
    """Return the brokers, running or stopped."""
    server = call.cluster._server
    return {"brokers": server.call(lambda: state.brokers(server))}


@routes.get("/v1/brokers/{node_id}", NODE_ID, response=state.BROKER)
def get_broker(call: Call) -> Json:
    """Return a broker, running or stopped."""
    server = call.cluster._server
    found = [each for each in server.call(lambda: state.brokers(server)) if each["node_id"] == call.path["node_id"]]
    if not found:
        raise Refusal(404, f"broker {call.path['node_id']} does not exist")
    return found[0]


@routes.post("/v1/brokers/{node_id}/stop", NODE_ID, response=state.BROKER)
def stop_broker(call: Call) -> Json:
    """Stop a broker. Its listener closes, and other replicas become leaders of its partitions."""
    if get_broker(call)["is_running"]:
        call.cluster.stop_broker(call.path["node_id"])
    return get_broker(call)


@routes.post("/v1/brokers/{node_id}/start", NODE_ID, response=state.BROKER)
def start_broker(call: Call) -> Json:
    """Start a stopped broker again, on the same port."""
    if not get_broker(call)["is_running"]:
        call.cluster.start_broker(call.path["node_id"])
    return get_broker(call)


@routes.post("/v1/brokers/{node_id}/hold-replication", NODE_ID, body=REPLICAS)
def hold_replication(call: Call) -> None:
    """Stop replicas of a broker from following their leaders."""
    get_broker(call)
    call.cluster.hold_replication(call.path["node_id"], call.body["topic"], call.body["partition"])


@routes.post("/v1/brokers/{node_id}/release-replication", NODE_ID, body=REPLICAS)
def release_replication(call: Call) -> None:
    """Undo a `hold-replication` with the same body. The replicas catch up before the response."""
    get_broker(call)
    call.cluster.release_replication(call.path["node_id"], call.body["topic"], call.body["partition"])


@routes.post("/v1/brokers/{node_id}/refuse-connections", NODE_ID)
def refuse_connections(call: Call) -> None:
    """Refuse new connections to a broker. Open connections continue."""
    get_broker(call)
    server = call.cluster._server
    server.call(lambda: server.refuse_connections(call.path["node_id"]))


@routes.post("/v1/brokers/{node_id}/accept-connections", NODE_ID)
def accept_connections(call: Call) -> None:
    """Accept new connections to a broker again."""
    get_broker(call)
    server = call.cluster._server
    server.call(lambda: server.accept_connections(call.path["node_id"]))


@routes.post("/v1/roll", body=ROLL, response=BROKERS, waits=True)
def roll_brokers(call: Call) -> Json:
    """Restart every running broker, one after the other, each on the same port.

    After each restart, wait until the replicas of the broker are in sync.
    """
    call.cluster.roll(call.body["timeout_s"])
    return list_brokers(call)
