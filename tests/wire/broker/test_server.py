"""Clusters of several brokers: leaders, followers, and the metadata and errors that clients get."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet.storage.identity import IdentityRefused
from kafkalet_conformance.playing.connection import Connection


def batch(*values: bytes) -> bytearray:
    return bytearray(build_batch([Record(index, 1000, None, value, ()) for index, value in enumerate(values)]))


class Wire:
    """Connections to the brokers of a cluster, opened on first use."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self.cluster = cluster
        self.connections: dict[int, Connection] = {}

    def send(self, node_id: int, api: str, version: int, body: dict[str, Any]) -> int:
        if node_id not in self.connections:
            endpoint = self.cluster._server.metadata.endpoints[node_id]
            self.connections[node_id] = Connection(endpoint.host, endpoint.port)
        return self.connections[node_id].send(api, version, body)

    def ask(self, node_id: int, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        return self.connections[node_id].receive(sent) if (sent := self.send(node_id, api, version, body)) else {}

    def forget(self, node_id: int) -> None:
        self.connections.pop(node_id).close()

    def latest(self, node_id: int, version: int = 7, **more: Any) -> dict[str, Any]:
        """Return a broker's response to ListOffsets for the latest offset of t-0."""
        asked = {"partition_index": 0, "timestamp": -1, **more}
        answer = self.ask(node_id, "ListOffsets", version, {"topics": [{"name": "t", "partitions": [asked]}]})
        partition: dict[str, Any] = answer["topics"][0]["partitions"][0]
        return partition

    def fetch(self, node_id: int, version: int = 12, **more: Any) -> dict[str, Any]:
        answer = self.ask(node_id, "Fetch", version, fetch_body(self.cluster, version, **more))
        partition: dict[str, Any] = answer["responses"][0]["partitions"][0]
        return partition


def fetch_body(
    cluster: kafkalet.Cluster, version: int, *, offset: int = 0, wait_ms: int = 0, **more: Any
) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    partition |= {name: more.pop(name) for name in ("current_leader_epoch",) if name in more}
    topic = {"topic_id": cluster._server.metadata.topics["t"].topic_id.hex()} if version >= 13 else {"topic": "t"}
    return {
        "max_wait_ms": wait_ms,
        "min_bytes": 1 if wait_ms else 0,
        "topics": [{**topic, "partitions": [partition]}],
        **more,
    }


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=3) as running:
        running.topic("t").create(1, replication_factor=3)
        yield running


@pytest.fixture
def wire(cluster: kafkalet.Cluster) -> Iterator[Wire]:
    opened = Wire(cluster)
    yield opened
    for connection in opened.connections.values():
        connection.close()


def leader(cluster: kafkalet.Cluster) -> int:
    return cluster._server.metadata.topics["t"].partitions[0].leader


def follower(cluster: kafkalet.Cluster) -> int:
    return next(node for node in cluster._server.metadata.topics["t"].partitions[0].replicas if node != leader(cluster))


# Starting brokers, in a thread or in the caller's event loop


def test_each_broker_has_its_own_port(cluster: kafkalet.Cluster) -> None:
    assert len(set(cluster.bootstrap_servers.split(","))) == 3


def test_leaders_are_spread_over_brokers(cluster: kafkalet.Cluster) -> None:
    cluster.topic("wide").create(6, replication_factor=2)
    assert sorted(state.leader for state in cluster._server.metadata.topics["wide"].partitions) == [1, 1, 2, 2, 3, 3]


def test_brokers_can_have_different_racks() -> None:
    with kafkalet.Cluster(2, racks=["a", "b"], config={"broker.rack": "c"}) as cluster:
        assert [endpoint.rack for endpoint in cluster._server.metadata.endpoints.values()] == ["a", "b"]
        assert cluster._server.nodes[2].config.broker_rack == "b"
        cluster.broker(2).stop()
        cluster.broker(2).start()
        assert cluster._server.metadata.endpoints[2].rack == "b"
    with pytest.raises(ValueError, match="1 rack for 2 brokers"):
        kafkalet.Cluster(2, racks=["a"])


def test_cluster_keeps_the_feature_levels_that_it_was_created_with(tmp_path: Path) -> None:
    for features in ({"metadata.version": 21}, {"metadata.version": 25}, None):
        with kafkalet.Broker(version="4.4", data_dir=tmp_path, features=features) as broker:
            wire = Wire(broker)
            client = {"client_software_name": "a", "client_software_version": "1"}
            [finalized] = wire.ask(1, "ApiVersions", 4, client)["finalized_features"]
            assert (finalized["name"], finalized["max_version_level"]) == ("metadata.version", 21)
            wire.forget(1)


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_node_id_property_sets_id_of_first_broker(name: str) -> None:
    with kafkalet.Broker(config={name: "0"}) as broker:
        broker.topic("t").create(assignments=[[0], [0]])
        assert [(state.leader, state.replicas) for state in broker._server.metadata.topics["t"].partitions] == [
            (0, [0])
        ] * 2
        assert broker.topic("t").append(build_batch([Record(0, 0, None, b"v")]), 1) == 0
        assert broker._server.metadata.controller_id == 0


def test_node_ids_of_cluster_are_consecutive_from_the_property() -> None:
    with kafkalet.Cluster(3, config={"node.id": "10"}, racks=["a", "b", "c"]) as cluster:
        endpoints = cluster._server.metadata.endpoints
        assert [(node_id, endpoint.rack) for node_id, endpoint in endpoints.items()] == [
            (10, "a"),
            (11, "b"),
            (12, "c"),
        ]
        assert [node.config.given()["node.id"] for node in cluster._server.nodes.values()] == ["10", "11", "12"]
        port = endpoints[11].port
        cluster.broker(11).stop()
        cluster.broker(11).start()
        assert endpoints[11].port == port


@pytest.mark.parametrize("brokers", [1, 2])
def test_data_directory_with_the_id_of_another_broker_is_refused(tmp_path: Path, brokers: int) -> None:
    with kafkalet.Cluster(brokers, data_dir=tmp_path, topics=["t"]):
        pass
    identity = tmp_path / ("meta.properties" if brokers == 1 else "broker-2/meta.properties")
    identity.write_text(identity.read_text().replace(f"node.id={brokers}\n", "node.id=9\n"))
    message = f"the directory belongs to broker 9, but the id of this broker is {brokers}"
    with pytest.raises(IdentityRefused, match=message), kafkalet.Cluster(brokers, data_dir=tmp_path):
        pass


def test_data_directory_is_reopened_with_its_node_id(tmp_path: Path) -> None:
    for _ in range(2):
        with kafkalet.Broker(data_dir=tmp_path, config={"node.id": "0"}, topics=["t"]) as broker:
            assert broker._server.metadata.topics["t"].partitions[0].leader == 0
        assert "node.id=0\n" in (tmp_path / "meta.properties").read_text()


def test_different_node_and_broker_ids_are_rejected() -> None:
    with pytest.raises(InvalidProperty, match="same value"):
        kafkalet.Broker(config={"node.id": "0", "broker.id": "1"})


def test_topic_can_have_replicas_on_stopped_broker() -> None:
    with kafkalet.Cluster(3) as cluster:
        cluster.broker(2).stop()
        cluster.topic("t").create(assignments=[[2, 1], [3, 2]])
        cluster.topic("u").create(1, replication_factor=3)
        leaders = [(state.leader, state.isr) for state in cluster._server.metadata.topics["t"].partitions]
        assert leaders == [(1, [1]), (3, [3])]
        with pytest.raises(KafkaError, match="partition 0 are fenced") as refused:
            cluster.topic("v").create(assignments=[[2]])
        assert refused.value.code is Code.INVALID_REPLICA_ASSIGNMENT
        cluster.topic("t").append(batch(b"a"))
        cluster.broker(2).start()
        assert cluster._server.metadata.topics["t"].partitions[0].isr == [1, 2]
        assert cluster._server.nodes[2].partitions["t", 0].log.log_end_offset == 1
        assert sorted(cluster._server.metadata.topics["u"].partitions[0].isr) == [1, 2, 3]


def test_brokers_in_one_process_are_independent() -> None:
    brokers = [kafkalet.Broker(topics=["t"]) for _ in range(5)]
    for broker in brokers:
        broker.__enter__()
    brokers[0].topic("t").append(batch(b"only here"))
    assert [broker.topic("t").log().log_end_offset for broker in brokers] == [1, 0, 0, 0, 0]
    for broker in brokers:
        broker.__exit__(None, None, None)


def test_broker_runs_in_callers_loop() -> None:
    async def run() -> int:
        async with kafkalet.Broker(topics=["t"]) as broker:
            broker.topic("t").append(batch(b"a", b"b"))
            _, writer = await asyncio.open_connection("127.0.0.1", broker.port)
            writer.close()
            await writer.wait_closed()
            return broker.topic("t").log().high_watermark

    assert asyncio.run(run()) == 2


def test_stopped_broker_can_be_started_again() -> None:
    broker = kafkalet.Broker(topics=["t"])
    for _ in range(2):
        with broker:
            assert broker.topic("t").log().log_end_offset == 0


def test_starting_running_broker_raises() -> None:
    with kafkalet.Broker() as broker, pytest.raises(RuntimeError):
        asyncio.run(broker.start())


def test_port_in_use_raises_os_error() -> None:
    with kafkalet.Broker() as broker, pytest.raises(OSError, match="in use"), kafkalet.Broker(port=broker.port):
        pass


# Requests to the wrong broker


@pytest.mark.parametrize("version", [1, 7])
def test_list_offsets_at_follower_fails(cluster: kafkalet.Cluster, wire: Wire, version: int) -> None:
    assert wire.latest(follower(cluster), version)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_newer_epoch_is_unknown_to_follower(cluster: kafkalet.Cluster, wire: Wire) -> None:
    assert wire.latest(follower(cluster), current_leader_epoch=5)["error_code"] == Code.UNKNOWN_LEADER_EPOCH


def test_fetch_below_v11_at_follower_fails(cluster: kafkalet.Cluster, wire: Wire) -> None:
    assert wire.fetch(follower(cluster), 10)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_fetch_since_v11_at_follower_succeeds(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.topic("t").append(batch(b"a"))
    answer = wire.fetch(follower(cluster), 11)
    assert (answer["error_code"], answer["high_watermark"]) == (Code.NONE, 1)


def test_produce_to_follower_returns_the_leader(cluster: kafkalet.Cluster, wire: Wire) -> None:
    partition = {"index": 0, "records": [{"raw": batch(b"a").hex()}]}
    body = {"acks": -1, "timeout_ms": 1000, "topics": [{"name": "t", "partitions": [partition]}]}
    answer = wire.ask(follower(cluster), "Produce", 10, body)
    refused = answer["responses"][0]["partitions"][0]
    assert refused["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
    assert refused["current_leader"] == {"leader_id": leader(cluster), "leader_epoch": 0}
    assert [node["node_id"] for node in answer["node_endpoints"]] == [leader(cluster)]


# Followers


def test_followers_replicate_before_produce_returns(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").append(batch(b"a", b"b"))
    offsets = {
        (p.log.log_end_offset, p.log.high_watermark)
        for n in cluster._server.nodes.values()
        for p in n.partitions.values()
    }
    assert offsets == {(2, 2)}


def test_held_follower_holds_back_high_watermark(cluster: kafkalet.Cluster) -> None:
    cluster.hold_replication(follower(cluster))
    cluster.topic("t").append(batch(b"a"))
    log = cluster.topic("t").log()
    assert (log.high_watermark, log.log_end_offset) == (0, 1)


def test_released_follower_catches_up(cluster: kafkalet.Cluster) -> None:
    held = follower(cluster)
    held_2 = cluster.hold_replication(held, "t", 0)
    cluster.topic("t").append(batch(b"a"))
    held_2.release()
    assert cluster.topic("t").log().high_watermark == 1


def test_consumers_wait_for_the_high_watermark(cluster: kafkalet.Cluster, wire: Wire) -> None:
    held = follower(cluster)
    held_2 = cluster.hold_replication(held)
    cluster.topic("t").append(batch(b"a"))
    waiting = wire.send(leader(cluster), "Fetch", 12, fetch_body(cluster, 12, wait_ms=10_000))
    held_2.release()
    answer = wire.connections[leader(cluster)].receive(waiting, 5)
    assert answer["responses"][0]["partitions"][0]["high_watermark"] == 1


def test_follower_fetch_advances_high_watermark(cluster: kafkalet.Cluster, wire: Wire) -> None:
    held = follower(cluster)
    cluster.hold_replication(held)
    cluster.topic("t").append(batch(b"a", b"b"))
    wire.fetch(leader(cluster), replica_id=held, offset=2)
    assert cluster.topic("t").log().high_watermark == 2


def test_fetch_with_unknown_replica_id_fails(wire: Wire, cluster: kafkalet.Cluster) -> None:
    assert wire.fetch(leader(cluster), replica_id=9)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
    answer = wire.fetch(leader(cluster), replica_id=9, current_leader_epoch=0)
    assert answer["error_code"] == Code.UNKNOWN_LEADER_EPOCH


def test_acks_all_times_out_waiting_for_followers(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.hold_replication(follower(cluster))
    partition = {"index": 0, "records": [{"raw": batch(b"a").hex()}]}
    body = {"acks": -1, "timeout_ms": 50, "topics": [{"name": "t", "partitions": [partition]}]}
    answer = wire.ask(leader(cluster), "Produce", 9, body)
    assert answer["responses"][0]["partitions"][0]["error_code"] == Code.REQUEST_TIMED_OUT


def test_acks_one_does_not_wait_for_followers(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.hold_replication(follower(cluster))
    partition = {"index": 0, "records": [{"raw": batch(b"a").hex()}]}
    body = {"acks": 1, "timeout_ms": 50, "topics": [{"name": "t", "partitions": [partition]}]}
    answer = wire.ask(leader(cluster), "Produce", 9, body)
    assert answer["responses"][0]["partitions"][0]["error_code"] == Code.NONE


# Leader changes


def test_stopping_leader_elects_another_in_new_epoch(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.topic("t").append(batch(b"a"))
    old = leader(cluster)
    cluster.broker(old).stop()
    assert leader(cluster) not in (old, -1)
    answer = wire.latest(leader(cluster))
    assert (answer["error_code"], answer["offset"], answer["leader_epoch"]) == (Code.NONE, 1, 1)


def test_request_with_old_leader_epoch_is_fenced(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.broker(leader(cluster)).stop()
    assert wire.latest(leader(cluster), current_leader_epoch=0)["error_code"] == Code.FENCED_LEADER_EPOCH


def test_fenced_fetch_returns_the_leader(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.broker(leader(cluster)).stop()
    answer = wire.fetch(leader(cluster), 16, current_leader_epoch=0)
    assert answer["error_code"] == Code.FENCED_LEADER_EPOCH
    assert answer["current_leader"] == {"leader_id": leader(cluster), "leader_epoch": 1}


def test_restarted_broker_rejoins_isr(cluster: kafkalet.Cluster) -> None:
    old = leader(cluster)
    cluster.broker(old).stop()
    cluster.topic("t").append(batch(b"while it was away"))
    cluster.broker(old).start()
    assert old in cluster._server.metadata.topics["t"].partitions[0].isr
    assert cluster._server.nodes[old].partitions["t", 0].log.log_end_offset == 1


def test_restarted_broker_keeps_the_state_of_its_logs() -> None:
    """A clean stop writes checkpoints and producer snapshots, also in a directory that the cluster will remove."""
    with kafkalet.Cluster(brokers=1, topics=["t"], config={"log.cleaner.enable": "false"}) as cluster:
        cluster.topic("compacted").create(config={"cleanup.policy": "compact"})
        for name in ("t", "compacted"):
            for sequence in range(2):
                records = [Record(0, cluster._server.clock.now_ms(), b"key", b"value", ())]
                cluster.topic(name).append(
                    build_batch(records, producer_id=7, producer_epoch=0, base_sequence=sequence)
                )
            cluster._server.call(cluster._server.leadership.leader_of(name, 0).log.roll)
        cluster._server.call(lambda: cluster._server.leadership.leader_of("t", 0).delete_records(1))
        cluster._server.run_cleaner()
        before = cluster._server.call(lambda: [state_of_log(cluster, name) for name in ("t", "compacted")])
        cluster.broker(1).stop()
        cluster.broker(1).start()
        after = cluster._server.call(lambda: [state_of_log(cluster, name) for name in ("t", "compacted")])
        assert after == before
        assert [state["start"] for state in before] == [1, 0]
        assert [state["first dirty"] for state in before] == [None, 2]


def state_of_log(cluster: kafkalet.Cluster, name: str) -> dict[str, Any]:
    log, node = cluster._server.leadership.leader_of(name, 0).log, cluster._server.nodes[1]
    holder = node.directories.holder(name, 0)
    assert holder is not None
    return {
        "start": log.log_start_offset,
        "high watermark": log.high_watermark,
        "segments": [segment.base_offset for segment in log.segments],
        "producers": [repr(producer) for producer in log.active_producers()],
        "first dirty": holder.environment.cleaning.offsets.get((name, 0)),
        "first epoch": log.epochs.entries[0],
    }


def test_restarted_broker_keeps_its_port(cluster: kafkalet.Cluster) -> None:
    before = cluster._server.metadata.endpoints[2].port
    cluster.broker(2).stop()
    cluster.broker(2).start()
    assert cluster._server.metadata.endpoints[2].port == before


def test_restarted_leader_truncates_unreplicated_records(cluster: kafkalet.Cluster) -> None:
    old = leader(cluster)
    others = [node for node in (1, 2, 3) if node != old]
    holds = [cluster.hold_replication(node) for node in others]
    cluster.topic("t").append(batch(b"lost"))
    cluster.broker(old).stop()
    for held in holds:
        held.release()
    cluster.topic("t").append(batch(b"kept", b"kept too"))
    cluster.broker(old).start()
    log = cluster._server.nodes[old].partitions["t", 0].log
    assert (log.log_end_offset, log.high_watermark) == (2, 2)
    leading = cluster._server.leadership.leader_of("t", 0).log
    assert [entry.epoch for entry in log.epochs.entries] == [entry.epoch for entry in leading.epochs.entries]


def test_fetch_beyond_truncation_returns_diverging_epoch(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.topic("t").append(batch(b"a"))
    cluster.broker(leader(cluster)).stop()
    body = fetch_body(cluster, 12, offset=5)
    body["topics"][0]["partitions"][0]["last_fetched_epoch"] = 0
    answer = wire.ask(leader(cluster), "Fetch", 12, body)["responses"][0]["partitions"][0]
    assert answer["diverging_epoch"] == {"epoch": 0, "end_offset": 1}


def test_new_leader_has_no_latest_offset_until_high_watermark_catches_up(cluster: kafkalet.Cluster, wire: Wire) -> None:
    old = leader(cluster)
    last = [node for node in cluster._server.metadata.topics["t"].partitions[0].replicas if node != old][-1]
    cluster.hold_replication(last)
    cluster.topic("t").append(batch(b"a"))
    cluster.broker(old).stop()
    new = leader(cluster)
    assert cluster.topic("t").log().high_watermark == 0
    assert wire.latest(new, 7)["error_code"] == Code.OFFSET_NOT_AVAILABLE
    assert wire.latest(new, 4)["error_code"] == Code.LEADER_NOT_AVAILABLE
    assert wire.latest(new, 7, timestamp=-2)["offset"] == 0


def test_partition_without_in_sync_replica_has_no_leader(cluster: kafkalet.Cluster) -> None:
    cluster.topic("single").create(3, replication_factor=1)
    state = cluster._server.metadata.topics["single"].partitions[0]
    cluster.broker(state.leader).stop()
    assert state.leader == -1
    with pytest.raises(KafkaError) as refusal:
        cluster.topic("single").log()
    assert refusal.value.code == Code.LEADER_NOT_AVAILABLE


def test_last_replica_becomes_leader_after_restart(cluster: kafkalet.Cluster) -> None:
    cluster.topic("single").create(3, replication_factor=1)
    state = cluster._server.metadata.topics["single"].partitions[0]
    only = state.leader
    cluster.broker(only).stop()
    cluster.broker(only).start()
    assert (state.leader, state.leader_epoch) == (only, 2)


def test_elect_leader_moves_leadership(cluster: kafkalet.Cluster) -> None:
    wanted = follower(cluster)
    cluster.topic("t").move_leader(wanted)
    assert leader(cluster) == wanted


def test_acks_all_fails_with_too_few_in_sync_replicas(cluster: kafkalet.Cluster, wire: Wire) -> None:
    cluster.topic("safe").create(1, config={"min.insync.replicas": "2"}, replication_factor=3)
    state = cluster._server.metadata.topics["safe"].partitions[0]
    for node in [node for node in state.replicas if node != state.leader]:
        cluster.broker(node).stop()
    partition = {"index": 0, "records": [{"raw": batch(b"a").hex()}]}
    body = {"acks": -1, "timeout_ms": 50, "topics": [{"name": "safe", "partitions": [partition]}]}
    answer = wire.ask(state.leader, "Produce", 9, body)
    assert answer["responses"][0]["partitions"][0]["error_code"] == Code.NOT_ENOUGH_REPLICAS


# Replication factor


def test_replication_factor_above_number_of_brokers_is_rejected(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(KafkaError) as refusal:
        cluster.topic("u").create(1, replication_factor=4)
    assert refusal.value.code == Code.INVALID_REPLICATION_FACTOR


# Persistence


def test_cluster_with_data_directory_is_restored(tmp_path: Path) -> None:
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as first:
        first.topic("t").create(2, config={"retention.ms": "-1"}, replication_factor=2)
        first.topic("t").append(batch(b"a", b"b"), 1)
        topic_id, cluster_id = first._server.metadata.topics["t"].topic_id, first._server.metadata.cluster_id
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as second:
        topic = second._server.metadata.topics["t"]
        assert (topic.topic_id, topic.config, second._server.metadata.cluster_id) == (
            topic_id,
            {"retention.ms": "-1"},
            cluster_id,
        )
        assert second.topic("t").log(1).high_watermark == 2


def test_producer_ids_are_not_reused_after_restart(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as first:
        given = first._server.call(first._server.controller.producer_ids.take)
    with kafkalet.Broker(data_dir=tmp_path) as second:
        assert second._server.call(second._server.controller.producer_ids.take) > given


def test_producer_ids_are_not_reused_after_two_restarts(tmp_path: Path) -> None:
    with kafkalet.Cluster(data_dir=tmp_path) as first:
        given = first._server.call(first._server.controller.producer_ids.take)
    with kafkalet.Cluster(data_dir=tmp_path):
        pass
    with kafkalet.Cluster(data_dir=tmp_path) as third:
        assert third._server.call(third._server.controller.producer_ids.take) > given


def test_deleted_topic_stays_deleted_after_restart(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["t", "u"]) as first:
        first.topic("t").delete()
    with kafkalet.Broker(data_dir=tmp_path) as second:
        assert list(second._server.metadata.topics) == ["u"]
