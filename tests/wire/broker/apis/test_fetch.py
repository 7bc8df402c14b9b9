"""Fetch: waiting requests, sessions, replicas and differences between releases.

These tests access internals of the broker (its purgatory, clock and logs) or need several brokers. Single requests to
one broker are tested in tests/wire/behavior, which also runs against Apache Kafka, and reads of a log in
tests/unit/storage.
"""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.connection import Connection
from tests.wire.brokers import Closed, NoAnswer, Plain, Wire, batch, fetched, on_the_wire

NOTHING = {"high_watermark": -1, "last_stable_offset": -1, "log_start_offset": -1, "records": []}


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """One broker with an empty topic "t"."""
    if "t" in shared.cluster._server.metadata.topics:
        shared.cluster.topic("t").delete()
    shared.cluster.topic("t").create(3)
    return shared


@pytest.fixture
def still() -> Iterator[Wire]:
    """One broker with a manual clock."""
    with on_the_wire(clock=ManualClock()) as wire:
        yield wire


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" that broker 1 leads."""
    with on_the_wire(3) as wire:
        yield wire


def advance(wire: Wire, ms: int) -> None:
    clock = wire.cluster._server.clock
    assert isinstance(clock, ManualClock)
    wire.cluster._server.call(lambda: clock.advance(milliseconds=ms))


def waits(wire: Wire, node: int = 1) -> bool:
    """Return whether a request waits after all scheduled callbacks have run."""
    return wire.cluster._server.call(lambda: len(wire.cluster._server.nodes[node].purgatory)) == 1


def values(answer: Plain) -> list[str]:
    return [record["value"] for entry in answer["records"] for record in entry["records"]]


def several(wire: Wire, offsets: dict[int, int], **more: int) -> Plain:
    """Return a request for partitions of "t", in this order, with these fetch offsets."""
    body = wire.fetch_body(**more)
    [first] = body["topics"][0]["partitions"]
    body["topics"][0]["partitions"] = [
        {**first, "partition": index, "fetch_offset": offset} for index, offset in offsets.items()
    ]
    return body


# Completion of waiting requests


def test_waiting_fetch_needs_min_bytes(still: Wire) -> None:
    records = batch(b"a")
    with still.waiting("Fetch", 12, still.fetch_body(wait_ms=5000, min_bytes=2 * len(records))) as receive:
        still.produce(records)
        assert waits(still)
        still.produce(records)
        assert values(fetched(receive())) == ["a", "a"]


def test_fetch_returns_available_records_after_max_wait_ms(still: Wire) -> None:
    with still.waiting("Fetch", 12, still.fetch_body(wait_ms=5000, min_bytes=1000)) as receive:
        still.produce(batch(b"a"))
        advance(still, 4999)
        assert waits(still)
        advance(still, 1)
        assert values(fetched(receive())) == ["a"]


def test_partition_counts_up_to_its_max_bytes(still: Wire) -> None:
    records = batch(b"a" * 500)
    body = still.fetch_body(wait_ms=5000, min_bytes=300, partition_max_bytes=200)
    with still.waiting("Fetch", 12, body) as receive:
        still.produce(records)
        assert waits(still)
        advance(still, 5000)
        assert values(fetched(receive()))  # the first batch is complete nevertheless


def test_produce_to_another_partition_does_not_complete_a_fetch(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
        wire.produce(batch(b"elsewhere"), index=1)
        assert waits(wire)
        wire.produce(batch(b"here"))
        assert values(fetched(receive())) == ["here"]


def test_new_segment_completes_a_fetch(wire: Wire) -> None:
    wire.produce(batch(b"a"))
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000, min_bytes=100_000)) as receive:
        wire.cluster._server.call(wire.log().roll)
        wire.produce(batch(b"b"))
        assert values(fetched(receive())) == ["a"]  # a read never crosses the end of a segment


@pytest.mark.parametrize("version", [12, 13])
def test_topic_deletion_completes_a_fetch(wire: Wire, version: int) -> None:
    named = {"topic_id": wire.cluster._server.metadata.topics["t"].topic_id.hex()} if version >= 13 else {}
    with wire.waiting("Fetch", version, wire.fetch_body(version=version, wait_ms=60_000, **named)) as receive:
        wire.cluster.topic("t").delete()
        answer = fetched(receive())
    assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert {name: answer[name] for name in NOTHING} == NOTHING


def test_deletion_of_earlier_records_does_not_complete_a_fetch(still: Wire) -> None:
    still.produce(batch(b"a", b"b"))
    with still.waiting("Fetch", 12, still.fetch_body(offset=2, wait_ms=5000)) as receive:
        still.cluster._server.call(lambda: still.cluster._server.leadership.leader_of("t", 0).delete_records(1))
        assert waits(still)
        advance(still, 5000)
        assert fetched(receive())["log_start_offset"] == 1


def test_disconnected_client_leaves_no_waiting_fetch(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)):
        wire.connections.pop((1, "waiting")).close()
        wire.until(lambda: len(wire.cluster._server.nodes[1].purgatory) == 0)


def test_requests_after_a_waiting_fetch_are_served_after_it(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
        connection = wire.connection(1, "waiting")
        behind = connection.send("ApiVersions", 0, {})
        with pytest.raises(NoAnswer):
            connection.receive(behind, 0.05)
        wire.produce(batch(b"a"))
        receive()
        assert connection.receive(behind)["error_code"] == Code.NONE


def test_two_fetches_that_wait_for_the_same_partition_both_complete(wire: Wire) -> None:
    sent = [
        (wire.connection(1, name), wire.connection(1, name).send("Fetch", 12, wire.fetch_body(wait_ms=60_000)))
        for name in ("one", "two")
    ]
    wire.until(lambda: len(wire.cluster._server.nodes[1].purgatory) == 2)
    wire.produce(batch(b"a"))
    assert [values(fetched(connection.receive(number))) for connection, number in sent] == [["a"], ["a"]]


# Immediate responses


def test_unknown_partition_comes_last_and_does_not_complete_a_fetch(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, several(wire, {77: 0, 0: 0}, wait_ms=60_000)) as receive:
        wire.produce(batch(b"a"))
        [topic] = receive()["responses"]
    assert [partition["partition_index"] for partition in topic["partitions"]] == [0, 77]
    assert topic["partitions"][1]["aborted_transactions"] == []


def test_fetch_without_partitions_returns_immediately(wire: Wire) -> None:
    assert wire.ask("Fetch", 12, {"max_wait_ms": 60_000, "min_bytes": 1, "session_epoch": -1})["responses"] == []


def test_diverging_fetch_returns_immediately(wire: Wire) -> None:
    wire.produce(batch(b"a"))
    answer = wire.fetch(offset=40, last_fetched_epoch=0, wait_ms=60_000)
    assert (answer["error_code"], answer["diverging_epoch"]) == (Code.NONE, {"epoch": 0, "end_offset": 1})


# Limits


@pytest.mark.parametrize("limit", [{"partition_max_bytes": -1}, {"max_bytes": -1}], ids=["partition", "request"])
def test_negative_limit_is_refused(wire: Wire, limit: dict[str, int]) -> None:
    wire.produce(batch(b"a"))
    assert wire.fetch(**limit)["error_code"] == Code.UNKNOWN_SERVER_ERROR


def test_broker_limits_the_response_size() -> None:
    with on_the_wire(config={"fetch.max.bytes": "1024"}) as wire:
        for _ in range(5):
            wire.produce(batch(b"x" * 400))
        whole = [entry for entry in wire.fetch()["records"] if "records" in entry]
        assert len(whole) == 2


# Sessions


def session(wire: Wire, number: int, epoch: int, *offsets: int, version: int = 12, **more: Plain) -> Plain:
    """Send a request of a session for partitions 0, 1, ... of "t" with these fetch offsets."""
    body = several(wire, dict(enumerate(offsets)))
    return wire.ask("Fetch", version, {**body, "session_id": number, "session_epoch": epoch, **more})


def partitions_in(answer: Plain) -> list[int]:
    return [partition["partition_index"] for topic in answer["responses"] for partition in topic["partitions"]]


def test_any_partition_of_a_session_completes_its_fetch(wire: Wire) -> None:
    number = session(wire, 0, 0, 0, 0, 0)["session_id"]
    body = {"max_wait_ms": 60_000, "min_bytes": 1, "session_id": number, "session_epoch": 1}
    with wire.waiting("Fetch", 12, body) as receive:
        wire.produce(batch(b"a"), index=2)
        answer = receive()
    assert (answer["session_id"], partitions_in(answer)) == (number, [2])


def test_forgotten_partition_does_not_complete_a_session_fetch(wire: Wire) -> None:
    number = session(wire, 0, 0, 0, 0)["session_id"]
    forgotten = [{"topic": "t", "partitions": [1]}]
    body = {"max_wait_ms": 60_000, "min_bytes": 1, "session_id": number, "session_epoch": 1}
    with wire.waiting("Fetch", 12, {**body, "forgotten_topics_data": forgotten}) as receive:
        wire.produce(batch(b"a"), index=1)
        assert waits(wire)
        wire.produce(batch(b"a"), index=0)
        assert partitions_in(receive()) == [0]


def test_deleted_topic_of_a_session_returns_an_error_every_time(wire: Wire) -> None:
    number = session(wire, 0, 0, 0)["session_id"]
    wire.cluster.topic("t").delete()
    for epoch in (1, 2):
        answer = session(wire, number, epoch)
        assert fetched(answer)["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    wire.cluster.topic("t").create(1)
    assert fetched(session(wire, number, 3))["error_code"] == Code.NONE


def test_session_with_a_recreated_topic_returns_inconsistent_topic_id(wire: Wire) -> None:
    """The session keeps the name for the topic id (ReplicaManager.readFromLog, KIP-516)."""
    body = wire.fetch_body(version=13, topic_id=topic_id_of(wire), session_epoch=0)
    number = wire.ask("Fetch", 13, body)["session_id"]
    wire.cluster.topic("t").delete()
    wire.cluster.topic("t").create(1)
    body = {"max_wait_ms": 60_000, "min_bytes": 1, "session_id": number, "session_epoch": 1}
    answer = fetched(wire.ask("Fetch", 13, body))
    assert answer["error_code"] == Code.INCONSISTENT_TOPIC_ID
    assert {name: answer[name] for name in NOTHING} == NOTHING


def test_number_of_sessions_is_limited() -> None:
    with on_the_wire(config={"max.incremental.fetch.session.cache.slots": "1"}) as wire:
        assert session(wire, 0, 0, 0)["session_id"] > 0
        assert session(wire, 0, 0, 0)["session_id"] == 0


# Isolation


@pytest.mark.parametrize(("release", "records"), [("3.9", None), ("4.4", [])])
def test_unknown_isolation_level_fails_the_whole_request(release: str, records: list[Plain] | None) -> None:
    with on_the_wire(version=release) as wire:
        answer = wire.ask("Fetch", 12, wire.fetch_body(isolation_level=7))
        assert answer["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert fetched(answer)["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert fetched(answer)["records"] == records
        topic_id = wire.cluster._server.metadata.topics["t"].topic_id.hex()
        answer = wire.ask("Fetch", 13, wire.fetch_body(version=13, isolation_level=7, topic_id=topic_id))
        assert (answer["error_code"], answer["responses"]) == (Code.UNKNOWN_SERVER_ERROR, [])


@pytest.mark.parametrize(
    ("release", "offset", "is_empty"),
    [("4.0", 2, False), ("4.0", 3, True), ("3.9", 2, True), ("3.8", 2, True), ("3.7", 2, False), ("3.7", 3, False)],
)
def test_fetch_past_the_last_stable_offset_may_wait_for_the_transaction(
    release: str, offset: int, is_empty: bool
) -> None:
    unverified = {"transaction.partition.verification.enable": False}
    with on_the_wire(version=release, config=unverified) as wire:
        for number in range(2):  # offsets 0 to 2, and 3 to 5
            wire.produce(transactional(number * 3), transactional_id="x")
        body = wire.fetch_body(offset=offset, wait_ms=60_000, isolation_level=1)
        if is_empty:
            assert values(fetched(wire.ask("Fetch", 12, body))) == []
            return
        with wire.waiting("Fetch", 12, body) as receive:
            marker = {"producer_id": 7, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
            written = {"topics": [{"name": "t", "partition_indexes": [0]}]}
            wire.ask("WriteTxnMarkers", 1, {"markers": [marker | written]})
            assert len(values(fetched(receive()))) == (6 if offset < 3 else 3)


def transactional(sequence: int) -> bytearray:
    of_producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
    return batch(b"a", b"b", b"c", is_transactional=True, **of_producer)


# Replicas


def test_consumer_does_not_see_unreplicated_records(three: Wire) -> None:
    held = three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    with three.waiting("Fetch", 12, three.fetch_body(wait_ms=60_000)) as receive:
        held.release()
        assert values(fetched(receive())) == ["a"]


def test_debugging_client_sees_no_more_than_a_consumer(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    assert values(three.fetch(replica_id=-2)) == []
    assert values(three.fetch(replica_id=-3)) == ["a"]


def test_consumer_may_wait_at_a_follower(three: Wire) -> None:
    with three.waiting("Fetch", 12, three.fetch_body(wait_ms=60_000), node=2) as receive:
        three.produce(batch(b"a"))
        assert values(fetched(receive())) == ["a"]


def test_leader_change_completes_a_fetch_from_the_leader(three: Wire) -> None:
    with three.waiting("Fetch", 10, three.fetch_body(version=10, wait_ms=60_000)) as receive:
        three.cluster.topic("t").move_leader(2)
        assert fetched(receive())["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_new_leader_epoch_completes_a_fetch_with_an_epoch(three: Wire) -> None:
    body = three.fetch_body(version=16, wait_ms=60_000, current_leader_epoch=0, topic_id=topic_id_of(three))
    with three.waiting("Fetch", 16, body) as receive:
        three.cluster.topic("t").move_leader(2)
        answer = fetched(receive())
    assert answer["error_code"] == Code.FENCED_LEADER_EPOCH
    assert answer["current_leader"] == {"leader_id": 2, "leader_epoch": 1}


def topic_id_of(wire: Wire) -> str:
    return wire.cluster._server.metadata.topics["t"].topic_id.hex()


@pytest.mark.parametrize(("release", "endpoints"), [("3.9", [2]), ("4.4", [])])
def test_follower_receives_node_endpoints_before_4_0(release: str, endpoints: list[int]) -> None:
    with on_the_wire(3, version=release) as wire:
        wire.cluster.topic("t").move_leader(2)
        state = {"replica_state": {"replica_id": 3, "replica_epoch": -1}}
        body = wire.fetch_body(version=16, current_leader_epoch=0, topic_id=topic_id_of(wire), **state)
        answer = wire.ask("Fetch", 16, body)
        assert fetched(answer)["current_leader"]["leader_id"] == 2
        assert [node["node_id"] for node in answer.get("node_endpoints", [])] == endpoints


def test_fetch_with_epoch_of_a_broker_without_replica_returns_unknown_leader_epoch(three: Wire) -> None:
    """Partition.followerReplicaOrThrow: the leader may not know yet that the broker is a replica."""
    assert three.fetch(replica_id=77, current_leader_epoch=0)["error_code"] == Code.UNKNOWN_LEADER_EPOCH


def test_fetch_of_a_follower_reports_its_progress(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a", b"b", b"c"))
    for offset in (1, 3):
        three.fetch(replica_id=2, offset=offset)
        assert three.cluster.topic("t").log().high_watermark == offset


def test_lagging_follower_reads_its_segment_immediately(three: Wire) -> None:
    three.produce(batch(b"a"))
    three.cluster._server.call(three.log().roll)
    three.produce(batch(b"b"))
    assert values(three.fetch(replica_id=2, wait_ms=60_000, min_bytes=100_000)) == ["a"]


def test_consumer_is_redirected_to_the_replica_in_its_rack() -> None:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    with on_the_wire(3, config={"replica.selector.class": selector}) as wire:
        for node, rack in ((1, "a"), (2, "b"), (3, "c")):
            endpoints = wire.cluster._server.metadata.endpoints
            endpoints[node] = endpoints[node]._replace(rack=rack)
        wire.produce(batch(b"a"))
        near = wire.fetch(version=12, rack_id="b", wait_ms=60_000)
        assert (near["preferred_read_replica"], near["records"]) == (2, [])
        assert wire.fetch(version=12, rack_id="a")["preferred_read_replica"] == -1
        assert wire.fetch(version=12, rack_id="nowhere")["preferred_read_replica"] == -1
        assert values(wire.fetch(version=12, rack_id="b", node=2)) == ["a"]


# The end of a session behind a waiting Fetch


def waiting_in_session(wire: Wire) -> tuple[Connection, int, int]:
    """Let a Fetch of a new session wait. Return its connection, its correlation id and the session id."""
    connection = wire.connection(1, "session")
    begun = connection.ask("Fetch", 12, {**wire.fetch_body(), "session_epoch": 0})
    waits = {"session_id": begun["session_id"], "session_epoch": 1, "topics": []}
    sent = connection.send("Fetch", 12, {**wire.fetch_body(wait_ms=60_000), **waits})
    wire.until(lambda: len(wire.cluster._server.nodes[1].purgatory) == 1)
    return connection, sent, begun["session_id"]


def test_end_of_a_session_completes_the_waiting_fetch_before_it(still: Wire) -> None:
    connection, sent, session_id = waiting_in_session(still)
    ends = {"session_id": session_id, "session_epoch": -1, "topics": []}
    end = connection.send("Fetch", 12, {**still.fetch_body(), **ends})
    waited, ended = connection.receive(sent, 5), connection.receive(end, 5)
    assert (waited["error_code"], waited["session_id"], waited["responses"]) == (Code.NONE, session_id, [])
    assert (ended["error_code"], ended["session_id"], ended["responses"]) == (Code.NONE, 0, [])


def test_end_of_a_session_does_not_complete_the_fetch_if_closing_fetches_wait() -> None:
    clock = ManualClock()
    with on_the_wire(clock=clock, config={"kafkalet.closing.fetch.wait": True}) as wire:
        connection, sent, session_id = waiting_in_session(wire)
        ends = {"session_id": session_id, "session_epoch": -1, "topics": []}
        end = connection.send("Fetch", 12, {**wire.fetch_body(), **ends})
        wire.ask("ApiVersions", 0, {})  # the broker has handled what it received before
        assert len(wire.cluster._server.nodes[1].purgatory) == 1
        wire.cluster._server.call(lambda: clock.advance(seconds=60))
        assert connection.receive(sent, 5)["session_id"] == session_id
        assert connection.receive(end, 5)["session_id"] == 0


def test_other_request_does_not_complete_the_waiting_fetch_before_it(still: Wire) -> None:
    connection, sent, _ = waiting_in_session(still)
    versions = connection.send("ApiVersions", 0, {})
    still.ask("ApiVersions", 0, {})  # the broker has handled what it received before
    assert len(still.cluster._server.nodes[1].purgatory) == 1
    still.produce(batch(b"a"))
    assert connection.receive(sent, 5)["responses"]
    assert connection.receive(versions, 5)["error_code"] == Code.NONE


# Shutdown of a broker


def test_broker_stop_closes_the_connection_of_a_waiting_fetch() -> None:
    with on_the_wire(2) as wire:
        connection = wire.connection(1)
        sent = connection.send("Fetch", 12, wire.fetch_body(wait_ms=60_000))
        node = wire.cluster._server.nodes[1]
        wire.until(lambda: len(node.purgatory) == 1)
        wire.cluster.broker(1).stop()
        with pytest.raises(Closed):
            connection.receive(sent, 5)
        assert len(node.purgatory) == 0
