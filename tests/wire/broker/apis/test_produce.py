"""Produce: the order of the checks, acks, and differences between versions and releases."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_message_set, numbered
from kafkalet.testing.hold import Hold
from tests.wire.brokers import Closed, NoAnswer, Plain, Wire, batch, on_the_wire

NOWHERE = "00000000-0000-0000-0000-0000000000ff"


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """One broker with an empty topic "t"."""
    shared.cluster.topic("t").delete()
    shared.cluster.topic("t").create(1)
    return shared


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" that broker 1 leads, and a manual clock."""
    with on_the_wire(3, clock=ManualClock(), topic_config={"min.insync.replicas": "2"}) as wire:
        wire.cluster.topic("t").move_leader(1) if wire.cluster._server.metadata.topics["t"].partitions[
            0
        ].leader != 1 else None
        yield wire


def held_back(wire: Wire) -> list[Hold]:
    """Stop the replication of t-0 by each of its followers."""
    return [wire.cluster.hold_replication(node) for node in (2, 3)]


def advance(wire: Wire, ms: int) -> None:
    clock = wire.cluster._server.clock
    assert isinstance(clock, ManualClock)
    wire.cluster._server.call(lambda: clock.advance(milliseconds=ms))


def produced(answer: Plain) -> Plain:
    partition: Plain = answer["responses"][0]["partitions"][0]
    return partition


# The order of the checks


def test_transactional_records_without_transactional_id_fail_every_partition(wire: Wire) -> None:
    transactional = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    topics = [
        {"name": "t", "partitions": [{"index": 0, "records": [{"raw": bytes(batch(b"good")).hex()}]}]},
        {"name": "unknown", "partitions": [{"index": 0, "records": [{"raw": bytes(transactional).hex()}]}]},
    ]
    answer = wire.ask("Produce", 9, {"acks": 1, "topics": topics})
    assert [topic["partitions"][0]["error_code"] for topic in answer["responses"]] == [
        Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    ] * 2
    assert wire.cluster.topic("t").log().log_end_offset == 0


def test_partition_is_checked_before_the_records(wire: Wire) -> None:
    assert wire.produce(b"", index=5)["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_records_are_checked_before_acks(wire: Wire) -> None:
    assert wire.produce(b"", acks=7)["error_code"] == Code.INVALID_RECORD


def test_invalid_acks_append_nothing(wire: Wire) -> None:
    refused = wire.produce(batch(b"a"), acks=2)
    assert (refused["error_code"], refused["log_start_offset"]) == (Code.INVALID_REQUIRED_ACKS, -1)
    assert wire.cluster.topic("t").log().log_end_offset == 0


def test_acks_are_checked_before_the_leader(three: Wire) -> None:
    assert three.produce(batch(b"a"), node=2, acks=2)["error_code"] == Code.INVALID_REQUIRED_ACKS
    assert three.produce(batch(b"a"), node=2, acks=-1)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_leader_is_checked_before_the_in_sync_replicas(three: Wire) -> None:
    three.cluster.broker(3).stop()
    three.cluster.topic("strict").create(1, config={"min.insync.replicas": "2"}, assignments=[[1, 2]])
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"), topic="strict", acks=1)
    three.cluster._server.call(lambda: three.cluster._server.leadership.drop_laggards(-1))
    refused = three.produce(batch(b"a"), topic="strict", acks=-1)
    assert (refused["error_code"], refused["log_start_offset"]) == (Code.NOT_ENOUGH_REPLICAS, 0)
    refused = three.produce(batch(b"a"), topic="strict", acks=-1, node=2)
    assert (refused["error_code"], refused["log_start_offset"]) == (Code.NOT_LEADER_OR_FOLLOWER, -1)
    assert three.produce(batch(b"a"), topic="strict", acks=1)["error_code"] == Code.NONE


def test_last_records_of_a_duplicate_partition_are_appended(wire: Wire) -> None:
    partitions = [{"index": 0, "records": [{"raw": bytes(batch(*values)).hex()}]} for values in ([b"a"], [b"b", b"c"])]
    answer = wire.ask("Produce", 9, {"acks": 1, "topics": [{"name": "t", "partitions": partitions}]})
    assert len(answer["responses"][0]["partitions"]) == 1
    assert wire.cluster.topic("t").log().log_end_offset == 2


def test_refused_partition_does_not_affect_others(wire: Wire) -> None:
    partitions = [{"index": index, "records": [{"raw": bytes(batch(b"a")).hex()}]} for index in (9, 0)]
    answer = wire.ask("Produce", 9, {"acks": 1, "topics": [{"name": "t", "partitions": partitions}]})
    found = answer["responses"][0]["partitions"]
    assert [(partition["index"], partition["error_code"]) for partition in found] == [(0, 0), (9, 3)]


def test_duplicate_partition_appends_valid_records_and_returns_the_error(wire: Wire) -> None:
    whole, cut = bytes(batch(b"a")).hex(), bytes(batch(b"a"))[:50].hex()
    partitions = [{"index": 0, "records": [{"raw": digits}]} for digits in (whole, cut)]
    answer = wire.ask("Produce", 9, {"acks": 1, "topics": [{"name": "t", "partitions": partitions}]})
    assert [partition["error_code"] for partition in answer["responses"][0]["partitions"]] == [87]
    assert produced(wire.ask("Produce", 9, wire.produce_body(batch(b"b"), acks=1)))["base_offset"] == 1


def test_internal_topic_is_refused(wire: Wire) -> None:
    wire.cluster.topic("__consumer_offsets").create(1)
    refused = wire.produce(batch(b"a"), topic="__consumer_offsets")
    assert (refused["error_code"], refused["log_start_offset"]) == (Code.INVALID_TOPIC_EXCEPTION, -1)
    wire.cluster.topic("__consumer_offsets").delete()


# acks=0


def test_acks_0_has_no_response(wire: Wire) -> None:
    connection = wire.connection()
    unanswered = connection.send("Produce", 9, wire.produce_body(batch(b"a"), acks=0))
    answered = connection.send("Produce", 9, wire.produce_body(batch(b"b"), acks=1))
    assert produced(connection.receive(answered))["base_offset"] == 1
    assert unanswered in connection.in_flight.pending


@pytest.mark.parametrize("body", [{"topic": "unknown"}, {"records": b""}], ids=["unknown topic", "no records"])
def test_acks_0_with_an_error_closes_the_connection(wire: Wire, body: Plain) -> None:
    connection = wire.connection(name="doomed")
    connection.send("Produce", 9, wire.produce_body(body.pop("records", batch(b"a")), acks=0, **body))
    with pytest.raises(Closed):
        connection.receive(connection.send("ApiVersions", 0, {}))
    wire.connections.pop((1, "doomed")).close()


def test_acks_0_with_an_error_appends_the_other_partitions(wire: Wire) -> None:
    connection = wire.connection(name="doomed")
    partitions = [{"index": index, "records": [{"raw": bytes(batch(b"a")).hex()}]} for index in (0, 9)]
    connection.send("Produce", 9, {"acks": 0, "topics": [{"name": "t", "partitions": partitions}]})
    with pytest.raises(Closed):
        connection.receive(connection.send("ApiVersions", 0, {}))
    wire.connections.pop((1, "doomed")).close()
    assert wire.cluster.topic("t").log().log_end_offset == 1


# acks=all


def test_acks_all_responds_when_the_last_follower_has_the_records(three: Wire) -> None:
    held = held_back(three)
    with three.waiting("Produce", 9, three.produce_body(batch(b"a"), acks=-1, timeout_ms=60_000)) as receive:
        held[0].release()
        assert three.cluster._server.call(lambda: len(three.cluster._server.nodes[1].purgatory)) == 1
        held[1].release()
        answer = produced(receive())
    assert (answer["error_code"], answer["base_offset"]) == (Code.NONE, 0)


def test_acks_all_times_out_and_the_records_stay(three: Wire) -> None:
    held_back(three)
    with three.waiting("Produce", 9, three.produce_body(batch(b"a"), acks=-1, timeout_ms=5000)) as receive:
        advance(three, 4999)
        assert three.cluster._server.call(lambda: len(three.cluster._server.nodes[1].purgatory)) == 1
        advance(three, 1)
        answer = produced(receive())
    assert (answer["error_code"], answer["base_offset"]) == (Code.REQUEST_TIMED_OUT, 0)
    log = three.cluster.topic("t").log()
    assert (log.high_watermark, log.log_end_offset) == (0, 1)


@pytest.mark.parametrize("timeout_ms", [0, -5])
def test_acks_all_with_zero_timeout_times_out_immediately(three: Wire, timeout_ms: int) -> None:
    held_back(three)
    answer = three.produce(batch(b"a"), acks=-1, timeout_ms=timeout_ms)
    assert answer["error_code"] == Code.REQUEST_TIMED_OUT


def test_shrunk_isr_returns_not_enough_replicas_after_append(three: Wire) -> None:
    held_back(three)
    body = three.produce_body(batch(b"a"), acks=-1, timeout_ms=3_600_000)
    with three.waiting("Produce", 9, body) as receive:
        advance(three, 60_000)  # more than replica.lag.time.max.ms
        advance(three, 60_000)
        assert three.cluster._server.metadata.topics["t"].partitions[0].isr == [1]
        three.cluster._server.call(
            lambda: three.cluster._server.nodes[1].partitions["t", 0].log.maybe_increment_high_watermark(1)
        )
        three.cluster._server.call(lambda: three.cluster._server.nodes[1].purgatory.touch(("t", 0)))
        answer = produced(receive())
    assert answer["error_code"] == Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_leader_change_completes_a_waiting_produce_with_an_error(three: Wire) -> None:
    held_back(three)
    with three.waiting("Produce", 10, three.produce_body(batch(b"a"), acks=-1, timeout_ms=60_000)) as receive:
        three.cluster.topic("t").move_leader(2)
        answer = receive()
    assert produced(answer)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
    assert produced(answer)["current_leader"] == {"leader_id": 2, "leader_epoch": 1}
    assert [node["node_id"] for node in answer["node_endpoints"]] == [2]


def test_topic_deletion_completes_a_waiting_produce_with_an_error(three: Wire) -> None:
    held_back(three)
    with three.waiting("Produce", 9, three.produce_body(batch(b"a"), acks=-1, timeout_ms=60_000)) as receive:
        three.cluster.topic("t").delete()
        answer = produced(receive())
    assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_disconnected_producer_leaves_no_waiting_request(three: Wire) -> None:
    held_back(three)
    with three.waiting("Produce", 9, three.produce_body(batch(b"a"), acks=-1, timeout_ms=60_000)):
        three.connections.pop((1, "waiting")).close()
        three.until(lambda: len(three.cluster._server.nodes[1].purgatory) == 0)


def test_requests_after_a_waiting_produce_are_served_after_it(three: Wire) -> None:
    held = held_back(three)
    body = three.produce_body(batch(b"a"), acks=-1, timeout_ms=60_000)
    with three.waiting("Produce", 9, body) as receive:
        connection = three.connection(1, "waiting")
        behind = connection.send("Produce", 9, three.produce_body(batch(b"b"), acks=1))
        with pytest.raises(NoAnswer):
            connection.receive(behind, 0.05)
        assert three.cluster.topic("t").log().log_end_offset == 1
        for each in held:
            each.release()
        assert produced(receive())["base_offset"] == 0
        assert produced(connection.receive(behind))["base_offset"] == 1


def test_duplicate_batch_waits_for_the_followers(three: Wire) -> None:
    held = held_back(three)
    numbered_batch = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    assert three.produce(numbered_batch, acks=1)["error_code"] == Code.NONE
    with three.waiting("Produce", 9, three.produce_body(numbered_batch, acks=-1, timeout_ms=60_000)) as receive:
        for each in held:
            each.release()
        answer = produced(receive())
    assert (answer["error_code"], answer["base_offset"], three.cluster.topic("t").log().log_end_offset) == (0, 0, 1)


# Versions


@pytest.mark.parametrize("version", range(14))
def test_every_version_returns_the_base_offset(wire: Wire, version: int) -> None:
    records: bytes | bytearray = batch(b"a", b"b")
    if version < 3:
        rows = numbered((1000, None, value, ()) for value in (b"a", b"b"))
        records = build_message_set(1 if version == 2 else 0, rows)
    topic_id = wire.cluster._server.metadata.topics["t"].topic_id.hex()
    for first in (0, 2):
        answer = wire.produce(records, version=version, **({"topic_id": topic_id} if version >= 13 else {}))
        assert (answer["error_code"], answer["base_offset"]) == (Code.NONE, first)


def test_log_start_offset_is_returned_since_v5(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b"))
    wire.cluster._server.call(lambda: wire.cluster._server.leadership.leader_of("t", 0).delete_records(1))
    assert wire.produce(batch(b"c"), version=5)["log_start_offset"] == 1
    assert "log_start_offset" not in wire.produce(batch(b"d"), version=4)


def test_record_errors_are_returned_since_v8(wire: Wire) -> None:
    wire.cluster.topic("compacted").create(1, config={"cleanup.policy": "compact"})
    refused = wire.produce(batch(b"no key", b"neither"), version=8, topic="compacted")
    assert refused["error_code"] == Code.INVALID_RECORD
    assert [error["batch_index"] for error in refused["record_errors"]] == [0, 1]
    assert "record_errors" not in wire.produce(batch(b"no key"), version=7, topic="compacted")
    wire.cluster.topic("compacted").delete()


def test_current_leader_is_returned_since_v10(three: Wire) -> None:
    assert "current_leader" not in three.produce(batch(b"a"), version=9, node=2)
    answer = three.ask("Produce", 10, three.produce_body(batch(b"a"), version=10), node=2)
    assert produced(answer)["current_leader"]["leader_id"] == 1
    assert produced(answer)["error_message"] is None
    assert [(node["node_id"], node["port"]) for node in answer["node_endpoints"]] == [
        (1, three.cluster._server.metadata.endpoints[1].port)
    ]


def test_topic_id_is_used_since_v13(wire: Wire) -> None:
    refused = wire.produce(batch(b"a"), version=13, topic_id=NOWHERE)
    assert refused["error_code"] == Code.UNKNOWN_TOPIC_ID


# Releases


def test_null_records_hang_the_connection_in_3_9(caplog: pytest.LogCaptureFixture) -> None:
    with on_the_wire(version="3.9") as wire:
        connection = wire.connection()
        connection.send("Produce", 9, wire.produce_body(None))
        with pytest.raises(NoAnswer):
            connection.receive(connection.send("ApiVersions", 0, {}), 0.05)
        assert wire.cluster._server.call(lambda: len(wire.cluster._server.nodes[1].purgatory)) == 0
    assert (
        "has null records: like Apache Kafka, the broker responds neither to this request nor to later ones"
        in caplog.text
    )


@pytest.mark.parametrize(("release", "served"), [("2.8", True), ("3.9", True), ("4.4", False), ("newest", True)])
def test_message_sets_are_supported_before_4_0(release: str, served: bool) -> None:
    with on_the_wire(version=release) as wire:
        records = build_message_set(1, numbered([(1000, None, b"a", ())]))
        if served:
            assert wire.produce(records, version=2)["base_offset"] == 0
        else:
            with pytest.raises(Closed):
                wire.produce(records, version=2)


@pytest.mark.parametrize(("release", "code"), [("3.5", Code.NONE), ("3.9", Code.NOT_ENOUGH_REPLICAS)])
def test_transactions_are_verified_since_3_6(release: str, code: Code) -> None:
    records = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    with on_the_wire(version=release) as wire:
        assert wire.produce(records, transactional_id="unverified")["error_code"] == code


@pytest.mark.parametrize(("release", "code"), [("3.6", Code.NOT_ENOUGH_REPLICAS), ("3.7", Code.NONE)])
def test_min_insync_replicas_is_capped_at_the_replication_factor_since_3_7(release: str, code: Code) -> None:
    with on_the_wire(version=release, topic_config={"min.insync.replicas": "3"}) as wire:
        assert wire.produce(batch(b"a"), acks=-1)["error_code"] == code
