"""Routes of the brokers: stop, start and roll them, refuse connections, and hold back replicas."""

from typing import Annotated

from kafkalet.broker.cluster.leadership import Peer
from kafkalet.control import state
from kafkalet.control.failures import Refusal
from kafkalet.control.fields import Int32, NodeId, Timeout
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, AnyOf, Field, Integer, Json, ListOf, Object, Text

routes = Routes("brokers", "The brokers of the cluster.")

BROKERS = Object("Brokers", "The brokers.", Field("brokers", ListOf(state.BROKER), "The brokers, by id."))


@routes.get("/v1/brokers", response=BROKERS)
def list_brokers(call: Call) -> Json:
    """Return the brokers, running or stopped."""
    return {"brokers": state.brokers(call.cluster._server)}


@routes.get("/v1/brokers/{node_id}", response=state.BROKER)
def get_broker(call: Call, node_id: NodeId) -> Json:
    """Return a broker, running or stopped."""
    for broker in state.brokers(call.cluster._server):
        if broker["node_id"] == node_id:
            return broker
    raise Refusal(404, f"broker {node_id} does not exist")


@routes.post("/v1/brokers/{node_id}/stop", response=state.BROKER)
def stop_broker(call: Call, node_id: NodeId) -> Json:
    """Stop a broker. Its listener closes, and other replicas become leaders of its partitions."""
    if get_broker(call, node_id)["is_running"]:
        call.cluster.broker(node_id).stop()
    return get_broker(call, node_id)


@routes.post("/v1/brokers/{node_id}/start", response=state.BROKER)
def start_broker(call: Call, node_id: NodeId) -> Json:
    """Start a stopped broker again, on the same port."""
    if not get_broker(call, node_id)["is_running"]:
        call.cluster.broker(node_id).start()
    return get_broker(call, node_id)


@routes.post("/v1/brokers/{node_id}/pause", response=state.BROKER)
def pause_broker(call: Call, node_id: NodeId) -> Json:
    """Suspend a broker. Connections stay open, but get no responses, and the broker does not follow other leaders."""
    if not get_broker(call, node_id)["is_paused"]:
        call.cluster.broker(node_id).pause()
    return get_broker(call, node_id)


@routes.post("/v1/brokers/{node_id}/resume", response=state.BROKER)
def resume_broker(call: Call, node_id: NodeId) -> Json:
    """Let a paused broker continue. It serves the requests that have arrived, and catches up with other leaders."""
    if get_broker(call, node_id)["is_paused"]:
        call.cluster.broker(node_id).resume()
    return get_broker(call, node_id)


Peers = Annotated[list[Peer], "Clients, the other brokers, or the controller."]


@routes.post("/v1/brokers/{node_id}/cut-off", "What a broker is cut off from.", name="Peers", response=state.BROKER)
def cut_off_broker(call: Call, node_id: NodeId, peers: Peers) -> Json:
    """Cut a broker off from peers, as a partition of the network does. Connections stay open, but carry nothing."""
    if new := set(peers) - set(get_broker(call, node_id)["cut_off_from"]):
        call.cluster.broker(node_id).cut_off(*new)
    return get_broker(call, node_id)


@routes.post("/v1/brokers/{node_id}/reconnect", response=state.BROKER)
def reconnect_broker(call: Call, node_id: NodeId) -> Json:
    """Let a broker reach everything again. Records that other leaders do not have are truncated."""
    if get_broker(call, node_id)["cut_off_from"]:
        call.cluster.broker(node_id).reconnect()
    return get_broker(call, node_id)


REPLICAS = "Replicas of a broker: all, those of one topic, or a single one."
AnyTopic = Annotated[str | None, "The topic. The default is all topics."]
AnyPartition = Annotated[Int32 | None, "The partition. The default is all partitions."]


@routes.post("/v1/brokers/{node_id}/hold-replication", REPLICAS, name="Replicas")
def hold_replication(call: Call, node_id: NodeId, topic: AnyTopic = None, partition: AnyPartition = None) -> None:
    """Stop replicas of a broker from following their leaders."""
    get_broker(call, node_id)
    call.cluster.hold_replication(node_id, topic, partition)


@routes.post("/v1/brokers/{node_id}/hold-replication/release", REPLICAS, name="Replicas")
def release_replication(call: Call, node_id: NodeId, topic: AnyTopic = None, partition: AnyPartition = None) -> None:
    """Undo a `hold-replication` with the same body. The replicas catch up before the response."""
    get_broker(call, node_id)
    server = call.cluster._server
    server.call(lambda: server.release_replication(node_id, topic, partition))


@routes.post("/v1/brokers/{node_id}/refuse-connections")
def refuse_connections(call: Call, node_id: NodeId) -> None:
    """Refuse new connections to a broker. Open connections continue."""
    get_broker(call, node_id)
    server = call.cluster._server
    server.call(lambda: server.refuse_connections(node_id))


@routes.post("/v1/brokers/{node_id}/refuse-connections/release")
def release_connections(call: Call, node_id: NodeId) -> None:
    """Accept new connections to a broker again."""
    get_broker(call, node_id)
    server = call.cluster._server
    server.call(lambda: server.accept_connections(node_id))


LogDir = Annotated[
    Json,
    AnyOf([Integer(0, INT32_MAX), Text(least=1)], lambda value: int(isinstance(value, str))),
    "The number of the directory in `log.dirs`, or its path.",
]


@routes.post("/v1/brokers/{node_id}/fail-log-dir", "A log directory of a broker.", name="LogDir")
def fail_log_dir(call: Call, node_id: NodeId, log_dir: LogDir = 0) -> None:
    """Make a log directory of a broker fail, as if its disk broke. Other in-sync replicas become leaders."""
    get_broker(call, node_id)
    call.cluster.fail_log_dir(log_dir, node_id)


@routes.post("/v1/brokers/{node_id}/fail-log-dir/release", "A log directory of a broker.", name="LogDir")
def release_log_dir(call: Call, node_id: NodeId, log_dir: LogDir = 0) -> None:
    """Repair a log directory that has failed, as if the broker was restarted: its logs are recovered."""
    get_broker(call, node_id)
    server = call.cluster._server
    server.call(lambda: server.restore_log_directory(node_id, log_dir))


@routes.post("/v1/controller/stop")
def stop_controller(call: Call) -> None:
    """Let no controller be active: leaders, ISRs and topics do not change, and requests for the controller wait."""
    server = call.cluster._server
    if server.leadership.has_controller:
        server.call(server.stop_controller)


@routes.post("/v1/controller/start")
def start_controller(call: Call) -> None:
    """Let a controller be active again. It fences brokers that were lost in the meantime when their sessions expire."""
    server = call.cluster._server
    if not server.leadership.has_controller:
        server.call(server.start_controller)


@routes.post("/v1/roll", "A rolling restart.", name="Roll", response=BROKERS, waits=True)
def roll_brokers(call: Call, timeout: Timeout = None) -> Json:
    """Restart every running broker, one after the other, each on the same port.

    After each restart, wait until the replicas of the broker are in sync.
    """
    call.cluster.roll(timeout)
    return list_brokers(call)
