"""The request log: one line per request, whatever its outcome, and no overhead while it is disabled."""

import logging
import re
import struct
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkalet
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.network import request_text
from kafkalet.broker.network.request_text import describe
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.fields import NEVER
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, Topic
from kafkalet.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkalet.protocol.messages.metadata import MetadataResponse
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.schema import Struct
from kafkalet_conformance.playing.connection import Connection
from tests.profile import examples
from tests.wire.brokers import TIMEOUT_S, Closed, Wire, batch, on_the_wire

REQUESTS = "kafkalet.requests"
CLIENT = "client=conformance"

Lines = Callable[[], list[str]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Returns the lines of the log so far, without connection numbers and times."""
    caplog.set_level(logging.DEBUG, REQUESTS)

    def seen() -> list[str]:
        every = [record.getMessage() for record in caplog.records if record.name == REQUESTS]
        return [re.sub(r" in [\d.]+ ms", "", re.sub(r"^conn=\d+ ", "", line)) for line in every]

    return seen


@pytest.fixture
def wire(lines: Lines) -> Iterator[Wire]:
    with on_the_wire() as opened:
        yield opened


def last(wire: Wire, lines: Lines, least: int = 2) -> str:
    """Wait for at least `least` lines (the first one is about the connection) and return the last."""
    wire.until(lambda: len(lines()) >= least)
    return lines()[-1].removeprefix(f"{CLIENT} ")


# Requests and responses


def test_line_has_connection_client_and_time(wire: Wire, caplog: pytest.LogCaptureFixture, lines: Lines) -> None:
    wire.ask("Metadata", 9, {"topics": []})
    opened, line = [record.getMessage() for record in caplog.records if record.name == REQUESTS]
    host, port = wire.connection().socket.getsockname()
    number = re.fullmatch(rf"conn=(\d+) {host}:{port} on broker 1", opened)
    assert number is not None
    address = wire.cluster.bootstrap_servers
    assert re.fullmatch(rf"conn={number[1]} {CLIENT} Metadata v9 -> brokers=\[1 at {address}\] in \d+\.\d ms", line)


def test_line_of_a_request_on_which_a_fault_has_fired_is_marked(wire: Wire, lines: Lines) -> None:
    with wire.cluster.fault("Metadata", error="UNKNOWN_TOPIC_OR_PARTITION", topic="t", times=1):
        for _ in range(2):
            wire.ask("Metadata", 9, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False})
    last(wire, lines, 4)
    fault, connection, *requests = lines()
    assert (fault, connection.endswith("on broker 1")) == (
        "fault 1 is set: fault('Metadata', error='UNKNOWN_TOPIC_OR_PARTITION', topic='t', times=1)",
        True,
    )
    assert [line.endswith("t UNKNOWN_TOPIC_OR_PARTITION (fault 1)") for line in requests] == [True, False]
    assert "fault" not in requests[1]


def test_line_of_a_request_that_a_fault_lost_is_marked(wire: Wire, lines: Lines) -> None:
    with wire.cluster.fault("Metadata", disconnect="before", times=1), pytest.raises(Closed):
        wire.ask("Metadata", 9, {"topics": []})
    assert last(wire, lines, 3) == "Metadata v9 -> no response (fault 1)"


def test_each_connection_has_its_own_number(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("one", "other"):
        connection = wire.connection(name=name)
        connection.ask("Metadata", 9, {"topics": []})
    numbers = [record.getMessage().split()[0] for record in caplog.records if record.name == REQUESTS]
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]


def test_produce_shows_batches_and_the_offset(wire: Wire, lines: Lines) -> None:
    sent = batch(b"a", b"b")
    wire.produce(sent)
    assert last(wire, lines) == f"Produce v9 t-0 1 batch 2 records {len(sent)} B acks=1 -> offset 0"


def test_produce_shows_producer_and_sequence(wire: Wire, lines: Lines) -> None:
    sent = build_batch(numbered([(1000, None, b"a", ())]), producer_id=7, producer_epoch=1, base_sequence=0)
    wire.produce(sent, acks=-1)
    assert last(wire, lines) == (f"Produce v9 t-0 1 batch 1 record {len(sent)} B producer=7/1 sequence=0 -> offset 0")


def test_error_is_shown_by_name(wire: Wire, lines: Lines) -> None:
    wire.produce(batch(b"a"), topic="missing", acks=-1)
    assert re.fullmatch(r"Produce v9 missing-0 1 batch 1 record \d+ B -> UNKNOWN_TOPIC_OR_PARTITION", last(wire, lines))


def test_invalid_records_are_shown_with_the_reason(wire: Wire, lines: Lines) -> None:
    wire.produce(b"x" * 100, version=2, acks=1)
    assert last(wire, lines).startswith("Produce v2 t-0 100 B (Invalid magic found in record: 120) acks=1 -> CORRUPT")


def test_request_without_response_is_shown(wire: Wire, lines: Lines) -> None:
    wire.connection().send("Produce", 9, wire.produce_body(batch(b"a"), acks=0))
    assert last(wire, lines).endswith(" acks=0 -> no response")


def test_fetch_shows_offsets_and_batches(wire: Wire, lines: Lines) -> None:
    sent = batch(b"a"), batch(b"b", b"c")
    for each in sent:
        wire.produce(each)
    wire.fetch(version=11, isolation_level=1)
    assert last(wire, lines, 4) == f"Fetch v11 t-0@0 read_committed -> 2 batches {sum(map(len, sent))} B hw=3 lso=3"


def test_batches_of_large_response_are_counted_in_the_file(wire: Wire, lines: Lines) -> None:
    for _ in range(40):
        wire.produce(batch(b"x" * 1000))
    wire.fetch()
    assert re.fullmatch(r"Fetch v12 t-0@0 -> 40 batches \d{5} B hw=40 lso=40", last(wire, lines, 42))


def test_fetch_by_topic_id_shows_the_name(wire: Wire, lines: Lines) -> None:
    topic_id = wire.cluster._server.metadata.topics["t"].topic_id.hex()
    wire.fetch(version=13, topic_id=topic_id)
    assert last(wire, lines) == "Fetch v13 t-0@0 -> nothing hw=0 lso=0"


def test_fetch_of_unknown_topic_id_shows_the_id(wire: Wire, lines: Lines) -> None:
    wire.ask("Fetch", 13, wire.fetch_body(version=13, topic_id="01" * 16))
    assert last(wire, lines) == "Fetch v13 AQEBAQEBAQEBAQEBAQEBAQ-0@0 -> UNKNOWN_TOPIC_ID"


def test_long_poll_is_logged_when_it_is_answered(wire: Wire, lines: Lines) -> None:
    with wire.waiting("Fetch", 11, wire.fetch_body(version=11, wait_ms=60_000)) as receive:
        before = lines()
        sent = batch(b"a")
        wire.cluster.topic("t").append(sent)
        receive()
    assert len(before) == 1
    assert last(wire, lines) == f"Fetch v11 t-0@0 -> 1 batch {len(sent)} B hw=1 lso=1 (waited)"


def test_time_of_long_poll_includes_the_wait(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    wire.ask("Fetch", 11, wire.fetch_body(version=11, wait_ms=50))
    found = re.search(r" in ([\d.]+) ms \(waited\)$", caplog.records[-1].getMessage())
    assert found is not None
    assert float(found[1]) >= 49


def test_disconnect_during_long_poll_is_shown(wire: Wire, lines: Lines) -> None:
    with wire.waiting("Fetch", 11, wire.fetch_body(version=11, wait_ms=60_000)):
        wire.connection(name="waiting").close()
        assert last(wire, lines) == "Fetch v11 t-0@0 -> the connection was closed before the response (waited)"


def test_fetch_session_is_shown(wire: Wire, lines: Lines) -> None:
    first = wire.ask("Fetch", 11, wire.fetch_body(version=11) | {"session_epoch": 0})
    session_id = first["session_id"]
    wire.ask(
        "Fetch", 11, {"session_id": session_id, "session_epoch": 1, "max_wait_ms": 0, "min_bytes": 0, "topics": []}
    )
    assert last(wire, lines, 3) == f"Fetch v11 session={session_id}/1 as before -> nothing new"


@pytest.mark.parametrize(
    ("timestamp", "words"),
    [(-1, "latest -> offset 2"), (-2, "earliest -> offset 0"), (1001, "1001 -> offset 1 timestamp 1001")],
)
def test_list_offsets_shows_timestamp_and_offset(wire: Wire, lines: Lines, timestamp: int, words: str) -> None:
    wire.cluster.topic("t").append(batch(b"a", b"b"))
    wire.list_offset(timestamp)
    assert last(wire, lines) == f"ListOffsets v8 t-0@{words}"


def test_timestamp_that_is_not_found_is_shown(wire: Wire, lines: Lines) -> None:
    wire.list_offset(5000)
    assert last(wire, lines) == "ListOffsets v8 t-0@5000 -> not found"


def test_groups_are_shown_with_topics_and_offsets(wire: Wire, lines: Lines) -> None:
    wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
    wire.ask("OffsetCommit", 7, {"group_id": "g", "topics": topics})
    assert last(wire, lines, 3) == "OffsetCommit v7 group_id=g t-0@5 -> t-0"
    asked = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}
    wire.ask("OffsetFetch", 8, {"groups": [asked], "require_stable": True})
    assert last(wire, lines, 4) == "OffsetFetch v8 groups=[g(t-0)] require_stable -> groups=[g(t-0@5)]"


def test_throttling_is_shown(wire: Wire, lines: Lines) -> None:
    entry = {"entity": [{"entity_type": "client-id", "entity_name": None}]}
    ops = [{"key": "request_percentage", "value": 0.000001, "remove": False}]
    wire.ask("AlterClientQuotas", 1, {"entries": [{**entry, "ops": ops}], "validate_only": False})
    wire.ask("Metadata", 9, {"topics": []})
    wire.connection(name="next").ask("Metadata", 9, {"topics": []})
    assert re.search(r"Metadata v9 -> throttle_time_ms=\d+ brokers=", last(wire, lines, 4))


# Requests that end the connection


def ask_frame(wire: Wire, frame: bytes) -> None:
    connection = wire.connection()
    connection.send_frame(frame)
    with pytest.raises(Closed):
        connection.receive_frame(time.monotonic() + TIMEOUT_S)


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (struct.pack(">hhih", 999, 3, 1, -1), "a request of 10 bytes (no API has the key 999) -> connection closed: "),
        (
            struct.pack(">hhih", 52, 0, 1, -1) + b"\0",
            "client='' Vote v0 -> connection closed: Vote is not served",
        ),
        (
            struct.pack(">hhih", 3, 99, 1, 1) + b"x\0",
            "client=x Metadata v99 -> connection closed: Metadata v99 is not served, only v0 to v13",
        ),
        (
            struct.pack(">hhih", 2, 1, 1, -1) + b"\0",
            "client='' ListOffsets v1 (malformed) -> connection closed: ListOffsetsRequest v1 in 11 bytes: ",
        ),
        (struct.pack(">hhih", 3, 9, 1, 5), "Metadata v9, a request of 10 bytes (request header in 10 bytes: "),
        (b"\0", "a request of 1 bytes (request header in 1 bytes: "),
    ],
    ids=["no API", "API not served", "version not served", "message cut off", "header cut off", "nothing"],
)
def test_request_rejected_by_closing_the_connection_is_shown(wire: Wire, lines: Lines, frame: bytes, line: str) -> None:
    ask_frame(wire, frame)
    wire.until(lambda: len(lines()) >= 2)
    assert lines()[-1].startswith(line)
    assert "connection closed: " in lines()[-1]


@pytest.mark.parametrize("later", [False, True])
def test_exception_in_handler_is_shown(wire: Wire, lines: Lines, later: bool) -> None:
    def break_down(*_: Any) -> Any:
        if not later:
            raise LookupError("a bug")
        delayed = wire.cluster._server.nodes[1].purgatory.park(["k"], 1, lambda: None, lambda: "late")
        return delayed.map(lambda _: {}["missing"])

    wire.cluster._server.brokers[1].router.hooks.intercept = break_down
    with pytest.raises(Closed):
        wire.ask("Metadata", 9, {"topics": []})
    what = "KeyError: 'missing' (waited)" if later else "LookupError: a bug"
    assert last(wire, lines) == f"Metadata v9 -> connection closed: a bug, {what}"


def test_message_that_cannot_be_described_is_still_served(
    wire: Wire, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise LookupError("no words")

    monkeypatch.setattr(request_text, "describe", fail)
    assert "brokers" in wire.ask("Metadata", 9, {"topics": []})
    not_shown = "(not shown: LookupError: no words)"
    assert last(wire, lines) == f"Metadata v9 {not_shown} -> {not_shown}"


# Long and unusual values


def test_client_id_is_truncated_and_escaped(wire: Wire, lines: Lines) -> None:
    name = ("a\nb\x1b[31m " + "x" * 1000).encode()
    frame = struct.pack(">hhih", 18, 0, 1, len(name)) + name
    wire.connection().send_frame(frame)
    wire.until(lambda: len(lines()) >= 2)
    shown = "a\\nb\\x1b[31m " + "x" * 91
    assert re.fullmatch(re.escape(f"client='{shown}'... ApiVersions v0 -> ") + r"\d+ APIs", lines()[-1])


def test_long_list_is_truncated(wire: Wire, lines: Lines) -> None:
    wire.cluster.topic("wide").create(20)
    partitions = [{"partition_index": index, "timestamp": -2} for index in range(20)]
    wire.ask("ListOffsets", 8, {"topics": [{"name": "wide", "partitions": partitions}]})
    assert last(wire, lines) == (
        "ListOffsets v8 wide-0@earliest wide-1@earliest wide-2@earliest wide-3@earliest wide-4@earliest ... 15 more -> "
        "wide-0 offset 0, wide-1 offset 0, wide-2 offset 0, wide-3 offset 0, wide-4 offset 0, ... 15 more"
    )


def test_errors_are_listed_before_successes(wire: Wire, lines: Lines) -> None:
    wire.cluster.topic("wide").create(20)
    partitions = [{"partition_index": index, "timestamp": -2} for index in range(21)]
    wire.ask("ListOffsets", 8, {"topics": [{"name": "wide", "partitions": partitions}]})
    assert "-> wide-20 UNKNOWN_TOPIC_OR_PARTITION, wide-0 offset 0, " in last(wire, lines)


def test_topic_with_many_partitions_shows_their_number() -> None:
    def topic(name: str, count: int, error: Code = Code.NONE) -> MetadataResponse.Topic:
        partitions = [
            MetadataResponse.Topic.Partition(
                partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1], error_code=error
            )
            for index in range(count)
        ]
        return MetadataResponse.Topic(name=name, partitions=partitions)

    topics = [topic("wide", 4), topic("t", 2), topic("lost", 1, Code.LEADER_NOT_AVAILABLE)]
    answer = MetadataResponse(brokers=[], topics=topics)
    assert describe(answer, MetadataImage("")) == "wide (4 partitions), t-0, t-1, lost-0 LEADER_NOT_AVAILABLE"


def test_request_for_a_transaction_shows_its_fields_without_their_versions() -> None:
    """In AddPartitionsToTxn up to version 3, the names of the fields begin with `v3_and_below_`."""
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=2,
        v3_and_below_topics=[Topic(name="t", partitions=[0])],
    )
    assert describe(request, MetadataImage("")) == "transactional_id=tx producer_id=7 producer_epoch=2 t-0"


def test_large_request_is_not_decoded_for_the_log(wire: Wire, lines: Lines) -> None:
    names = [{"name": "x" * 200} for _ in range(6000)]
    wire.ask("Metadata", 9, {"topics": names})
    assert re.match(r"Metadata v9 \(\d{7} B\) -> ", last(wire, lines))


# Secrets


def test_secrets_are_shown_by_length_only() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"\0user\0secret")
    assert describe(request, MetadataImage("")) == "auth_bytes=12 B"


def test_config_values_are_not_shown() -> None:
    config = IncrementalAlterConfigsRequest.Resource.Config(name="ssl.key.password", config_operation=0, value="secret")
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=4, resource_name="1", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    assert describe(request, MetadataImage("")) == "resources=[1(ssl.key.password)]"


# Every message

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "string": st.text(max_size=8),
    "bytes": st.binary(max_size=8),
    "records": st.binary(max_size=8),
    "uuid": st.binary(min_size=16, max_size=16),
    "float64": st.floats(),
}


@cache
def structs(kind: type[Struct]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{field.name: _field(field) for field in kind.FIELDS})


def _field(field: Any) -> st.SearchStrategy[Any]:
    one = structs(field.struct) if field.struct else _VALUES.get(field.wire.name, st.integers(-2, 100))
    value = st.lists(one, max_size=2) if field.array else one
    return value if field.nullable == NEVER and field.default is not None else st.none() | value


@pytest.mark.parametrize("api", sorted(SERVED), ids=str)
@settings(max_examples=examples(0.2))
@given(data=st.data())
def test_every_message_can_be_described(api: Api, data: st.DataObject) -> None:
    for kind in (request_type(api), request_type(api).RESPONSE):
        text = describe(data.draw(structs(kind)), MetadataImage(""))
        assert text.isprintable()


# On and off


def test_disabled_log_adds_no_step_to_routing() -> None:
    with on_the_wire() as wire:
        wire.ask("Metadata", 9, {"topics": []})
        router = wire.cluster._server.brokers[1].router
        router.hooks.journal = None
        assert router.route == router._serve
        assert router._on_response is None


def test_changed_log_level_applies_from_the_next_connection(caplog: pytest.LogCaptureFixture) -> None:
    def ask(name: str) -> int:
        wire.connection(name=name).ask("Metadata", 9, {"topics": []})
        return sum(record.name == REQUESTS for record in caplog.records)

    with on_the_wire() as wire:
        assert ask("first") == 0
        caplog.set_level(logging.DEBUG, REQUESTS)
        assert ask("second") == 2
        assert ask("first") == 4  # including the line about the connection
        caplog.set_level(logging.WARNING, REQUESTS)
        assert ask("third") == 4
        router = wire.cluster._server.brokers[1].router
        router.hooks.journal = None
        assert router.route == router._serve


def test_log_stays_enabled_when_quotas_change(wire: Wire, lines: Lines) -> None:
    entry = {"entity": [{"entity_type": "client-id", "entity_name": "another"}]}
    for remove in (False, True):
        ops = [{"key": "request_percentage", "value": 1.0, "remove": remove}]
        wire.ask("AlterClientQuotas", 1, {"entries": [{**entry, "ops": ops}], "validate_only": False})
        wire.ask("Metadata", 9, {"topics": []})
    assert [line.split()[1] for line in lines()[1:]] == ["AlterClientQuotas", "Metadata"] * 2


def test_lines_name_the_broker_of_a_cluster(lines: Lines) -> None:
    with on_the_wire(2) as wire:
        for node in (1, 2):
            wire.ask("Metadata", 9, {"topics": []}, node)
    assert [line[-8:] for line in lines() if " on " in line] == ["broker 1", "broker 2"]


def test_every_request_has_one_line(lines: Lines) -> None:
    """One line per request, whichever way its response is sent."""
    with kafkalet.Broker(topics=["t"]) as broker:
        connection = Connection("127.0.0.1", broker.port)
        asked = ["ApiVersions", "Metadata", "DescribeConfigs", "ListGroups", "DescribeCluster"]
        bodies: list[dict[str, Any]] = [
            {},
            {"topics": []},
            {"resources": [{"resource_type": 2, "resource_name": "t", "configuration_keys": None}]},
            {},
            {},
        ]
        for api, body in zip(asked, bodies, strict=True):
            connection.ask(api, 0, body)
        connection.close()
    assert [line.split()[1] for line in lines()[1:]] == asked
