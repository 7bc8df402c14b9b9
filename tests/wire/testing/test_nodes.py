"""Tests of brokers that are paused, cut off or killed."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from kafkalet import Clock, Cluster
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet_conformance.building import batch
from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer

TIMEOUT_S = 60


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    config = {"replica.lag.time.max.ms": "3000", "broker.session.timeout.ms": "6000"}
    with Cluster(3, clock=Clock.frozen(), config=config) as cluster:
        cluster.topic("t", partitions=1, replication_factor=3).move_leader(to=1)
        yield cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Connection]:
    connection = Connection(*cluster.broker(1).address)
    connection.ask("ApiVersions", 0, {})
    yield connection
    connection.close()


def leader_and_isr(cluster: Cluster) -> tuple[int | None, list[int]]:
    topic = cluster.topic("t")
    return topic.leader(), sorted(topic.isr())


def test_paused_broker_answers_after_it_has_resumed(cluster: Cluster, client: Connection) -> None:
    broker = cluster.broker(1)
    broker.pause()
    assert (broker.is_running, broker.is_paused, repr(broker)) == (True, True, "<broker 1, paused>")
    sent = client.send("ApiVersions", 0, {})
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.05)
    broker.resume()
    assert client.receive(sent, TIMEOUT_S)["error_code"] == 0
    assert (broker.is_paused, repr(broker)) == (False, "<broker 1, running>")


def test_paused_broker_accepts_connections_when_it_has_resumed(cluster: Cluster) -> None:
    cluster.broker(1).pause()
    client = Connection(*cluster.broker(1).address)
    sent = client.send("ApiVersions", 0, {})
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.05)
    cluster.broker(1).resume()
    assert client.receive(sent, TIMEOUT_S)["error_code"] == 0
    client.close()


def test_response_that_was_waiting_is_sent_after_the_pause(cluster: Cluster, client: Connection) -> None:
    asked = {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]}
    sent = client.send("Fetch", 11, {"max_wait_ms": 1000, "min_bytes": 1, "topics": [asked]})
    cluster.requests.wait_for("Fetch")
    cluster.broker(1).pause()
    cluster.clock.advance(seconds=2, sessions=True)
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.05)
    cluster.broker(1).resume()
    assert client.receive(sent, TIMEOUT_S)["error_code"] == 0


def test_paused_leader_is_replaced_when_its_session_expires(cluster: Cluster) -> None:
    cluster.broker(1).pause()
    cluster.clock.advance(seconds=5, sessions=True)
    assert leader_and_isr(cluster) == (1, [1, 2, 3])
    cluster.clock.advance(seconds=1, sessions=True)
    assert leader_and_isr(cluster) == (2, [2, 3])
    cluster.broker(1).resume()
    assert leader_and_isr(cluster) == (2, [1, 2, 3])


def test_paused_follower_leaves_the_isr_of_a_leader_with_records(cluster: Cluster) -> None:
    cluster.broker(3).pause()
    cluster.clock.advance(seconds=4, sessions=True)
    assert leader_and_isr(cluster) == (1, [1, 2, 3])
    cluster.topic("t").send("one")
    assert cluster.topic("t").log().high_watermark == 0
    cluster.clock.advance(milliseconds=1500)
    assert leader_and_isr(cluster) == (1, [1, 2])
    assert cluster.topic("t").log().high_watermark == 1
    cluster.broker(3).resume()
    assert leader_and_isr(cluster) == (1, [1, 2, 3])


def test_broker_that_resumes_in_time_stays_leader(cluster: Cluster) -> None:
    cluster.broker(1).pause()
    cluster.clock.advance(seconds=5, sessions=True)
    cluster.broker(1).resume()
    cluster.clock.advance(seconds=5, sessions=True)
    assert leader_and_isr(cluster) == (1, [1, 2, 3])


def test_paused_broker_can_be_killed_and_started(cluster: Cluster) -> None:
    cluster.broker(1).pause()
    cluster.broker(1).kill()
    cluster.broker(1).start()
    cluster.clock.advance(seconds=10, sessions=True)
    assert (cluster.broker(1).is_paused, leader_and_isr(cluster)) == (False, (2, [1, 2, 3]))


def test_killed_leader_is_replaced_when_its_session_expires(cluster: Cluster, client: Connection) -> None:
    cluster.broker(1).kill()
    with pytest.raises(Closed):
        client.ask("ApiVersions", 0, {})
    assert repr(cluster.broker(1)) == "<broker 1, stopped>"
    cluster.clock.advance(seconds=5, sessions=True)
    assert leader_and_isr(cluster) == (1, [1, 2, 3])
    with pytest.raises(KafkaError, match="t-0 is led by broker 1, which was killed, until its session expires"):
        cluster.topic("t").send("one")
    cluster.clock.advance(seconds=1, sessions=True)
    assert leader_and_isr(cluster) == (2, [2, 3])


def test_admin_requests_are_sent_to_another_broker_than_the_killed_one(cluster: Cluster) -> None:
    cluster.broker(1).kill()
    with closing(Connection(*cluster.broker(2).address)) as client:
        answer = client.ask("Metadata", 9, {"topics": []})
    assert (answer["controller_id"], [broker["node_id"] for broker in answer["brokers"]]) == (2, [1, 2, 3])


def test_killed_follower_leaves_the_isr_of_a_leader_with_records(cluster: Cluster) -> None:
    cluster.broker(3).kill()
    cluster.topic("t").send("one")
    assert cluster.topic("t").log().high_watermark == 0
    cluster.clock.advance(seconds=5)
    assert leader_and_isr(cluster) == (1, [1, 2])
    assert cluster.topic("t").log().high_watermark == 1


def test_killed_broker_ends_its_session_when_it_starts(cluster: Cluster) -> None:
    cluster.broker(1).kill()
    cluster.broker(1).start()
    assert leader_and_isr(cluster) == (2, [1, 2, 3])
    cluster.clock.advance(seconds=10, sessions=True)
    assert leader_and_isr(cluster) == (2, [1, 2, 3])


def test_session_of_a_paused_broker_continues_when_it_is_killed(cluster: Cluster) -> None:
    cluster.broker(1).pause()
    cluster.clock.advance(seconds=5, sessions=True)
    cluster.broker(1).kill()
    assert leader_and_isr(cluster) == (1, [1, 2, 3])
    cluster.clock.advance(seconds=1, sessions=True)
    assert leader_and_isr(cluster) == (2, [2, 3])


def test_only_a_running_broker_can_be_paused_and_only_a_paused_one_resumed(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="broker 1 is neither paused nor cut off"):
        cluster.broker(1).resume()
    cluster.broker(1).pause()
    with pytest.raises(ValueError, match="broker 1 is stopped, paused or cut off already"):
        cluster.broker(1).pause()


def test_paused_broker_with_an_idle_client_is_quiet(cluster: Cluster, client: Connection) -> None:
    cluster.broker(1).pause()
    cluster.settle(timeout=TIMEOUT_S)
    cluster.broker(1).resume()
    assert client.ask("ApiVersions", 0, {})["error_code"] == 0


def produced(cluster: Cluster, broker: int, acks: int) -> int:
    """Return the error code of a Produce request to a broker, in which a wait ends at once."""
    with closing(Connection(*cluster.broker(broker).address)) as client:
        partition = {"index": 0, "records": [batch(10)]}
        body = {"acks": acks, "timeout_ms": 0, "topics": [{"name": "t", "partitions": [partition]}]}
        code: int = client.ask("Produce", 7, body)["responses"][0]["partitions"][0]["error_code"]
        return code


def known_leader(cluster: Cluster, broker: int) -> int:
    """Return the leader that Metadata of a broker names."""
    with closing(Connection(*cluster.broker(broker).address)) as client:
        leader: int = client.ask("Metadata", 7, {"topics": [{"name": "t"}]})["topics"][0]["partitions"][0]["leader_id"]
        return leader


def test_isolated_leader_accepts_records_that_are_lost(cluster: Cluster) -> None:
    cluster.broker(1).cut_off("brokers", "controller")
    cluster.clock.advance(seconds=6, sessions=True)
    assert (leader_and_isr(cluster), known_leader(cluster, 1)) == ((2, [2, 3]), 1)
    assert [produced(cluster, 1, acks) for acks in (1, -1)] == [Code.NONE, Code.REQUEST_TIMED_OUT]
    cluster.broker(1).reconnect()
    assert (leader_and_isr(cluster), known_leader(cluster, 1)) == ((2, [1, 2, 3]), 2)
    assert cluster._server.nodes[1].partitions["t", 0].log.log_end_offset == 0


def test_leader_without_the_controller_is_followed_until_its_session_expires(cluster: Cluster) -> None:
    cluster.broker(1).cut_off("controller")
    cluster.clock.advance(seconds=5, sessions=True)
    assert produced(cluster, 1, -1) == Code.NONE
    cluster.clock.advance(seconds=1, sessions=True)
    assert produced(cluster, 1, -1) == Code.REQUEST_TIMED_OUT


def test_leader_without_other_brokers_shrinks_the_isr_and_still_leads(cluster: Cluster) -> None:
    cluster.broker(1).cut_off("brokers")
    assert produced(cluster, 1, -1) == Code.REQUEST_TIMED_OUT
    cluster.clock.advance(seconds=10, sessions=True)
    assert leader_and_isr(cluster) == (1, [1])
    cluster.broker(1).reconnect()
    assert leader_and_isr(cluster) == (1, [1, 2, 3])


def test_leader_without_clients_still_leads(cluster: Cluster, client: Connection) -> None:
    cluster.broker(1).cut_off("clients")
    cluster.clock.advance(seconds=10, sessions=True)
    sent = client.send("ApiVersions", 0, {})
    with pytest.raises(NoAnswer):
        client.receive(sent, 0.05)
    assert leader_and_isr(cluster) == (1, [1, 2, 3])
    cluster.broker(1).reconnect()
    assert client.receive(sent, TIMEOUT_S)["error_code"] == 0


def test_broker_that_is_cut_off_from_everything_is_paused(cluster: Cluster) -> None:
    broker = cluster.broker(1)
    broker.cut_off("controller")
    assert (broker.cut_off_from, repr(broker)) == (["controller"], "<broker 1, running, cut off from controller>")
    broker.cut_off("brokers", "clients")
    assert broker.is_paused


def test_broker_cannot_be_cut_off_from_something_else(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="cannot be cut off from 'zookeeper', only from brokers, clients, controller"):
        cluster.broker(1).cut_off("zookeeper")  # type: ignore[arg-type]


def isr_of(cluster: Cluster) -> list[int]:
    return sorted(cluster.topic("t").isr())


def created(client: Connection, name: str) -> int:
    """Send CreateTopics, and return the correlation id."""
    return client.send("CreateTopics", 2, {"topics": [{"name": name, "num_partitions": 1, "replication_factor": 1}]})


def test_request_for_the_controller_waits_until_one_is_active(cluster: Cluster, client: Connection) -> None:
    with cluster.stop_controller():
        sent = created(client, "u")
        with pytest.raises(NoAnswer):
            client.receive(sent, 0.05)
    assert client.receive(sent, TIMEOUT_S)["topics"][0]["error_code"] == Code.NONE


def test_request_for_the_controller_times_out_after_a_minute(cluster: Cluster, client: Connection) -> None:
    with cluster.stop_controller():
        sent = created(client, "u")
        cluster.requests.wait_for("CreateTopics")
        cluster.clock.advance(minutes=1, sessions=True)
        assert client.receive(sent, TIMEOUT_S)["topics"][0]["error_code"] == Code.REQUEST_TIMED_OUT


def test_broker_that_does_not_reach_the_controller_forwards_when_it_does(cluster: Cluster, client: Connection) -> None:
    cluster.broker(1).cut_off("controller")
    sent = created(client, "u")
    cluster.requests.wait_for("CreateTopics")
    cluster.broker(1).reconnect()
    assert client.receive(sent, TIMEOUT_S)["topics"][0]["error_code"] == Code.NONE


def test_leader_that_is_killed_without_a_controller_is_replaced_by_the_next_one(cluster: Cluster) -> None:
    with cluster.stop_controller():
        cluster.broker(1).kill()
        cluster.clock.advance(seconds=10, sessions=True)
        assert (known_leader(cluster, 2), produced(cluster, 2, 1)) == (1, Code.NOT_LEADER_OR_FOLLOWER)
        with pytest.raises(ValueError, match="broker 1 cannot start, because the controller is stopped"):
            cluster.broker(1).start()
    cluster.clock.advance(seconds=5, sessions=True)
    assert known_leader(cluster, 2) == 1
    cluster.clock.advance(seconds=1, sessions=True)
    assert leader_and_isr(cluster) == (2, [2, 3])
    cluster.broker(1).start()
    assert isr_of(cluster) == [1, 2, 3]


def test_broker_that_was_killed_without_a_controller_is_fenced_when_it_starts(cluster: Cluster) -> None:
    with cluster.stop_controller():
        cluster.broker(1).kill()
    cluster.broker(1).start()
    assert leader_and_isr(cluster) == (2, [1, 2, 3])


def test_isr_shrinks_when_a_controller_is_active_again(cluster: Cluster) -> None:
    with cluster.stop_controller():
        cluster.broker(3).cut_off("brokers")
        cluster.topic("t").send("one")
        cluster.clock.advance(seconds=10, sessions=True)
        assert isr_of(cluster) == [1, 2, 3]
    cluster.clock.advance(seconds=3, sessions=True)
    assert isr_of(cluster) == [1, 2]


def test_broker_that_is_reconnected_without_a_controller_is_fenced_until_one_is_active(cluster: Cluster) -> None:
    cluster.broker(1).cut_off("brokers", "controller")
    cluster.clock.advance(seconds=6, sessions=True)
    with cluster.stop_controller():
        cluster.broker(1).reconnect()
        assert (isr_of(cluster), known_leader(cluster, 1)) == ([2, 3], 1)
    assert (isr_of(cluster), known_leader(cluster, 1)) == ([1, 2, 3], 2)


def test_controller_is_stopped_once(cluster: Cluster) -> None:
    with cluster.stop_controller(), pytest.raises(ValueError, match="the controller is stopped already"):
        cluster.stop_controller()


def test_broker_that_was_isolated_finds_transactions_of_later(cluster: Cluster) -> None:
    server = cluster._server
    cluster.broker(1).cut_off("brokers", "controller")
    cluster.clock.advance(seconds=6, sessions=True)
    transactions = server.brokers[1].transactions
    with cluster.open_transaction("x"):
        pass
    with pytest.raises(KafkaError, match="there is no transactional id x"):
        server.call(lambda: transactions.view("x"))
    cluster.broker(1).reconnect()
    assert server.call(lambda: transactions.view("x")).transactional_id == "x"
