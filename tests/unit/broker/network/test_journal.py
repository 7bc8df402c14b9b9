"""Tests of the journal: what it records, its limits, and its counters."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.network.exchange import Exchange
from kafkalet.broker.network.journal import (
    KEPT_BYTES,
    MOST_UNSUPPORTED,
    PRODUCE_KEPT_BYTES,
    WHOLE_BYTES,
    Journal,
    Unsupported,
)
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.tasks.delayed import Delayed

from .journaling import Journaled, header, journaled


def produce_frame(size: int, topic: str = "t", partitions: int = 1) -> bytes:
    batch = build_batch(numbered([(1000, None, b"x" * size, ())]))
    partition = ProduceRequest.Topic.Partition
    sent = [partition(index=index, records=batch) for index in range(partitions)]
    topics = [ProduceRequest.Topic(name=topic, partition_data=sent)]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)
    return header(Api.PRODUCE, 9) + request.encode(9)


def ask_metadata(journaled: Journaled, client_id: str = "me") -> Exchange:
    return journaled.ask(Api.METADATA, 9, client_id, topics=[])


def test_router_without_journal_has_no_overhead() -> None:
    with journaled() as asked:
        router = asked.router
        router.hooks.journal = None
        assert (router.route, router.encode_delayed, router.recorder) == (router._serve, router._encode_delayed, None)


def test_request_is_recorded_with_its_context() -> None:
    with journaled() as asked:
        exchange = ask_metadata(asked, "app")
        found = (exchange.api, exchange.version, exchange.client_id, exchange.correlation_id)
        assert found == ("Metadata", 9, "app", 77)
        assert (exchange.connection.peer, exchange.connection.broker) == (("127.0.0.1", 5), 1)
        assert exchange.connection.number == asked.context.number


def test_ring_keeps_the_last_requests() -> None:
    with journaled(most_requests=100) as asked:
        for number in range(1000):
            ask_metadata(asked, f"client-{number}")
        kept = [exchange.client_id for exchange in asked.journal.exchanges()]
        assert 80 <= len(kept) <= 100
        assert kept == [f"client-{number}" for number in range(1000 - len(kept), 1000)]


def test_dropped_requests_are_counted_by_api_and_client() -> None:
    with journaled(most_requests=10) as asked:
        for _ in range(50):
            ask_metadata(asked, "one")
        for _ in range(30):
            ask_metadata(asked, "other")
        asked.ask(Api.LIST_OFFSETS, 7, "other", replica_id=-1, topics=[])
        assert asked.journal.counts() == {
            ("Metadata", "one"): 50,
            ("Metadata", "other"): 30,
            ("ListOffsets", "other"): 1,
        }


def test_counts_include_closed_connections() -> None:
    with journaled() as asked:
        ask_metadata(asked)
        asked.journal.closed(asked.context, "")
        assert asked.journal.counts() == {("Metadata", "me"): 1}


def test_large_produce_requests_stay_within_the_bytes() -> None:
    most_bytes = 256 * 1024
    with journaled(most_bytes=most_bytes, topics=["t"]) as asked:
        frame = produce_frame(100_000)
        for _ in range(1000):
            asked.send(frame)
        exchanges = asked.journal.exchanges()
        assert asked.journal.counts() == {("Produce", "me"): 1000}
        assert sum(sys.getsizeof(exchange.frame) for exchange in exchanges) < asked.journal.bytes_held <= most_bytes
        assert {exchange.frame_bytes for exchange in exchanges} == {len(frame)}


@pytest.mark.slow
def test_many_large_produce_requests_stay_within_the_bytes() -> None:
    with journaled() as asked:
        frame = produce_frame(8192, topic="missing")
        for _ in range(20_000):
            asked.send(frame)
        assert asked.journal.counts() == {("Produce", "me"): 20_000}
        assert asked.journal.bytes_held <= asked.journal.most_bytes
        assert len(asked.journal.exchanges()) <= asked.journal.most_requests


def test_produce_request_is_a_copy_from_before_the_broker_changed_it() -> None:
    with journaled(topics=["t"]) as asked:
        frame = produce_frame(10)
        asked.send(frame)
        asked.send(frame)
        assert [exchange.frame for exchange in asked.journal.exchanges()] == [frame, frame]


@pytest.mark.parametrize(("size", "kept"), [(WHOLE_BYTES - 200, None), (WHOLE_BYTES, PRODUCE_KEPT_BYTES)])
def test_beginning_of_a_large_produce_request_is_kept(size: int, kept: int | None) -> None:
    with journaled(topics=["t"]) as asked:
        frame = produce_frame(size)
        asked.send(frame)
        [exchange] = asked.journal.exchanges()
        assert len(exchange.frame) == (kept or len(frame))


def test_other_large_requests_are_kept_up_to_a_limit() -> None:
    with journaled() as asked:
        for count in (1000, KEPT_BYTES // 10):
            topics = [MetadataRequest.Topic(name=f"topic-{number:05}") for number in range(count)]
            exchange = asked.ask(Api.METADATA, 9, topics=topics)
            assert (exchange.request() is None) is (exchange.frame_bytes > KEPT_BYTES)


def test_refused_request_is_recorded_with_the_reason() -> None:
    with journaled() as asked:
        with pytest.raises(CloseConnection):
            asked.send(header(Api.METADATA, 99, "old"))
        [exchange] = asked.journal.exchanges()
        assert (exchange.client_id, exchange.closed) == (
            "old",
            "connection closed: Metadata v99 is not served, only v0 to v13",
        )


@pytest.mark.parametrize(
    ("api", "version", "expected"),
    [
        (Api.METADATA, 99, Unsupported("me", "Metadata", 99, "versions 0 to 13")),
        (Api.VOTE, 0, Unsupported("me", "Vote", 0, "")),
        (999, 0, Unsupported("me", "API 999", 0, "")),
    ],
)
def test_unsupported_request_is_counted(api: int, version: int, expected: Unsupported) -> None:
    with journaled() as asked:
        for _ in range(2):
            with pytest.raises(CloseConnection):
                asked.send(header(api, version))
        assert asked.journal.unsupported == {expected: 2}


def test_malformed_request_is_not_unsupported() -> None:
    with journaled() as asked:
        with pytest.raises(Exception, match="MetadataRequest"):
            asked.send(header(Api.METADATA, 9))
        [exchange] = asked.journal.exchanges()
        assert "connection closed" in (exchange.closed or "")
        assert not asked.journal.unsupported


def test_different_unsupported_requests_are_limited() -> None:
    with journaled() as asked:
        for number in range(MOST_UNSUPPORTED + 10):
            with pytest.raises(CloseConnection):
                asked.send(header(Api.METADATA, 99, f"client-{number}"))
        assert len(asked.journal.unsupported) == MOST_UNSUPPORTED


@pytest.fixture
def waiting() -> Iterator[Journaled]:
    """A router with a request to which it responds later."""
    with journaled() as asked:
        key = int.from_bytes(header(Api.LIST_OFFSETS, 7)[:4], "big")
        delayed: Delayed[Any] = Delayed()
        asked.router._resolve(key).handle = lambda request, context: delayed
        assert (
            asked.send(header(Api.LIST_OFFSETS, 7) + ListOffsetsRequest(replica_id=-1, topics=[]).encode(7)) is delayed
        )
        yield asked


def test_waiting_request_is_included(waiting: Journaled) -> None:
    [exchange] = waiting.journal.exchanges()
    assert exchange.is_waiting
    assert waiting.journal.counts() == {("ListOffsets", "me"): 1}


def test_delayed_response_completes_a_waiting_request(waiting: Journaled) -> None:
    answer = ListOffsetsResponse(topics=[])
    waiting.router.encode_delayed(answer, waiting.context, [])
    [exchange] = waiting.journal.exchanges()
    assert (exchange.is_waiting, exchange.has_waited) == (False, True)
    assert exchange.response() == answer
    assert waiting.journal.counts() == {("ListOffsets", "me"): 1}


def test_connection_that_closes_ends_a_waiting_request(waiting: Journaled) -> None:
    journal = waiting.journal
    journal.closed(waiting.context, "")
    [exchange] = journal.exchanges()
    assert exchange.closed == "the connection was closed before the response"
    assert (journal.waiting(), journal.connections) == ([], {})


def test_connection_has_the_reason_for_its_close() -> None:
    with journaled() as asked:
        facts = ask_metadata(asked).connection
        asked.journal.closed(asked.context, "idle")
        assert (facts.close_reason, facts.closed_s is not None) == ("idle", True)


def test_clear_forgets_requests_and_counts() -> None:
    with journaled() as asked:
        ask_metadata(asked)
        asked.journal.clear()
        assert (asked.journal.exchanges(), asked.journal.counts(), asked.journal.bytes_held) == ([], {}, 0)


def test_since_returns_only_newer_requests() -> None:
    with journaled(most_requests=16) as asked:
        ask_metadata(asked, "first")
        _, sequence = asked.journal.since(0)
        for number in range(20):
            ask_metadata(asked, str(number))
        new, sequence = asked.journal.since(sequence)
        assert [exchange.client_id for exchange in new] == [str(number) for number in range(20 - len(new), 20)]
        assert asked.journal.since(sequence)[0] == []


def test_listener_gets_each_request_until_it_ends() -> None:
    with journaled() as asked:
        heard: list[str] = []
        end = asked.journal.listen(lambda exchange: heard.append(exchange.client_id))
        ask_metadata(asked, "one")
        end()
        ask_metadata(asked, "two")
        assert heard == ["one"]


def test_stopped_server_frees_the_journal() -> None:
    with journaled() as asked:
        ask_metadata(asked)
        asked.journal.close()
        assert (asked.journal.exchanges(), asked.journal.connections) == ([], {})


def test_response_of_fetch_keeps_no_file_open() -> None:
    with journaled(topics=["t"]) as asked:
        asked.send(produce_frame(10_000))
        exchange = fetch(asked)
        assert isinstance(exchange.answer, list)
        assert {type(part) for part in exchange.answer} == {bytes, int}


def fetch(asked: Journaled) -> Exchange:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchRequest.Topic(topic="t", partitions=[partition])]
    return asked.ask(Api.FETCH, 11, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, replica_id=-1, topics=topics)


def test_journal_has_limits_by_default() -> None:
    journal = Journal()
    assert (journal.most_requests, journal.most_bytes) == (10_000, 8 * 1024 * 1024)
