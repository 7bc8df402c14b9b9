from collections.abc import Iterator
from contextlib import closing

import pytest

import kafkalet
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.fetching import FetchAnswer, PartitionFetcher
from kafkalet_spark.live.refusals import OffsetOutOfRange, PartitionRefused, Unreachable

from .scripted import HANG_UP, SILENT, TOPIC_ID, ScriptedBroker, fetched, found
from .scripted import Answer as Scripted

QUICK = {"retry.backoff.ms": "1", "default.api.timeout.ms": "300"}
RECORDS = build_batch(numbered([(1, b"k", b"v" * 100, ())]))


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


@pytest.fixture
def live(broker: ScriptedBroker) -> Iterator[LiveBroker]:
    with LiveBroker(broker.bootstrap_servers, QUICK) as client:
        yield client


@pytest.fixture
def fetcher(live: LiveBroker) -> Iterator[PartitionFetcher]:
    with closing(PartitionFetcher(live, "t", 0)) as made:
        yield made


def records(answer: FetchAnswer) -> bytes:
    return bytes(answer.buffer[answer.start : answer.end])


def fetch(fetcher: PartitionFetcher, offset: int = 0) -> bytes:
    fetcher.ask(offset)
    return records(fetcher.answer())


def asked(broker: ScriptedBroker) -> FetchRequest.Topic.Partition:
    request: FetchRequest = broker.requests(Api.FETCH)[-1]
    return request.topics[0].partitions[0]


# Requests


@pytest.mark.parametrize("version", range(4, 19))
def test_all_versions_return_the_same_records(version: int) -> None:
    with (
        ScriptedBroker({Api.FETCH: (0, version)}) as broker,
        LiveBroker(broker.bootstrap_servers) as live,
        closing(PartitionFetcher(live, "t", 0)) as fetcher,
    ):
        broker.script(Api.FETCH, fetched(RECORDS, aborted=[(7, 0)], high_watermark=9))
        fetcher.ask(0)
        answer = fetcher.answer()
        assert records(answer) == RECORDS
        assert answer.aborted == [(7, 0)]
        assert (answer.high_watermark, answer.last_stable_offset) == (9, 9)
        assert broker.versions_of(Api.FETCH) == {version}


def test_brokers_before_record_batches_are_rejected() -> None:
    with (
        ScriptedBroker({Api.FETCH: (0, 3)}) as broker,
        LiveBroker(broker.bootstrap_servers) as live,
        closing(PartitionFetcher(live, "t", 0)) as fetcher,
    ):
        fetcher.ask(0)
        with pytest.raises(KafkaError, match="Fetch version 4 or later is required"):
            fetcher.answer()


def test_request_has_the_values_of_the_properties(broker: ScriptedBroker) -> None:
    result = {
        "max.partition.fetch.bytes": "11",
        "fetch.max.bytes": "12",
        "fetch.min.bytes": "13",
        "fetch.max.wait.ms": "14",
        "isolation.level": "read_committed",
        "client.rack": "here",
    }
    with LiveBroker(broker.bootstrap_servers, result) as live, closing(PartitionFetcher(live, "t", 2)) as fetcher:
        broker.script(Api.FETCH, fetched(partition=2))
        fetch(fetcher, 99)
    request: FetchRequest = broker.requests(Api.FETCH)[0]
    assert (request.max_bytes, request.min_bytes, request.max_wait_ms, request.isolation_level) == (12, 13, 14, 1)
    assert (request.rack_id, request.session_id, request.session_epoch) == ("here", 0, -1)
    assert request.topics[0].topic_id == TOPIC_ID
    row = request.topics[0].partitions[0]
    assert (row.partition, row.fetch_offset, row.partition_max_bytes, row.current_leader_epoch) == (2, 99, 11, 5)


def test_topic_without_id_is_requested_by_name(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    def nameless(request: MetadataRequest) -> MetadataResponse:
        answer = broker.metadata()
        answer.topics[0].topic_id = ZERO_UUID
        return answer

    broker.script(Api.METADATA, nameless)
    fetch(fetcher)
    assert broker.versions_of(Api.FETCH) == {12}


def test_request_is_sent_before_its_response_is_awaited(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    fetch(fetcher)
    broker.script(Api.FETCH, SILENT)
    fetcher.ask(5)
    while len(broker.requests(Api.FETCH)) < 2:
        pass
    assert asked(broker).fetch_offset == 5


def test_pending_fetch_does_not_block_other_requests(
    broker: ScriptedBroker, live: LiveBroker, fetcher: PartitionFetcher
) -> None:
    fetch(fetcher)
    fetcher.ask(1)
    assert live.topics() == {"t": 3}
    assert records(fetcher.answer()) == b""


# Errors

PASSING = [
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.FENCED_LEADER_EPOCH,
    Code.UNKNOWN_LEADER_EPOCH,
    Code.LEADER_NOT_AVAILABLE,
    Code.REPLICA_NOT_AVAILABLE,
    Code.KAFKA_STORAGE_ERROR,
    Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.UNKNOWN_TOPIC_ID,
    Code.INCONSISTENT_TOPIC_ID,
    Code.OFFSET_NOT_AVAILABLE,
    Code.UNKNOWN_SERVER_ERROR,
]


@pytest.mark.parametrize(
    "trouble",
    [
        *[pytest.param(fetched(None, error_code=code), id=code.name) for code in PASSING],
        pytest.param(fetched(whole_error=Code.UNKNOWN_SERVER_ERROR), id="all of it"),
        pytest.param(fetched(partition=1), id="another partition"),
        pytest.param(HANG_UP, id="hang up"),
    ],
)
def test_retriable_error_is_retried_after_metadata_refresh(
    broker: ScriptedBroker, fetcher: PartitionFetcher, trouble: Scripted
) -> None:
    broker.script(Api.FETCH, fetched(RECORDS), trouble, trouble, fetched(RECORDS * 2))
    assert fetch(fetcher) == RECORDS
    broker.epoch = 6
    assert fetch(fetcher, 1) == RECORDS * 2
    assert asked(broker).fetch_offset == 1
    assert asked(broker).current_leader_epoch == 6


@pytest.mark.parametrize(
    "code", [Code.TOPIC_AUTHORIZATION_FAILED, Code.CORRUPT_MESSAGE, Code.UNSUPPORTED_COMPRESSION_TYPE]
)
def test_permanent_error_is_raised_immediately(broker: ScriptedBroker, fetcher: PartitionFetcher, code: Code) -> None:
    broker.script(Api.FETCH, fetched(None, error_code=code))
    with pytest.raises(PartitionRefused, match=f"{code.name}: Fetch at offset 3 of t-0"):
        fetch(fetcher, 3)
    assert len(broker.requests(Api.FETCH)) == 1


def test_retriable_error_is_raised_after_the_timeout(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    broker.script(Api.FETCH, *[fetched(None, error_code=Code.FENCED_LEADER_EPOCH)] * 1000)
    with pytest.raises(PartitionRefused, match="FENCED_LEADER_EPOCH"):
        fetch(fetcher)


def test_silent_broker_fails_after_the_timeout(broker: ScriptedBroker) -> None:
    broker.script(Api.FETCH, *[SILENT] * 1000)
    hasty = {**QUICK, "request.timeout.ms": "50"}
    with LiveBroker(broker.bootstrap_servers, hasty) as live, closing(PartitionFetcher(live, "t", 0)) as fetcher:
        fetcher.ask(0)
        with pytest.raises(Unreachable, match=f"no response from broker 127.0.0.1:{broker.port} in 50 ms"):
            fetcher.answer()
    assert len(broker.requests(Api.FETCH)) > 1


def test_malformed_response_is_not_retried(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    broker.script(Api.FETCH, b"\0\0\0\x05\0\0\0\2\0")
    with pytest.raises(DecodeError):
        fetch(fetcher)


def test_deleted_offset_is_reported_with_existing_range(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    def bounds(request: object) -> FetchResponse | object:
        answer = found(request)
        answer.topics[0].partitions[0].offset = 20 if len(broker.requests(Api.LIST_OFFSETS)) % 2 else 30
        return answer

    broker.script(Api.FETCH, fetched(None, error_code=Code.OFFSET_OUT_OF_RANGE))
    broker.script(Api.LIST_OFFSETS, bounds, bounds)  # type: ignore[arg-type]
    with pytest.raises(OffsetOutOfRange) as refused:
        fetch(fetcher, 10)
    assert refused.value.args == ("t", 0, 10, 20, 30)


def test_out_of_range_offset_that_exists_is_retried(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    """As after a change of leader, when the new leader does not know its high watermark yet."""

    def bounds(request: object) -> object:
        answer = found(request)
        answer.topics[0].partitions[0].offset = 0 if len(broker.requests(Api.LIST_OFFSETS)) % 2 else 30
        return answer

    broker.script(Api.FETCH, fetched(None, error_code=Code.OFFSET_OUT_OF_RANGE), fetched(RECORDS))
    broker.script(Api.LIST_OFFSETS, bounds, bounds)  # type: ignore[arg-type]
    assert fetch(fetcher, 10) == RECORDS


# Several brokers


def test_fetches_follow_the_leader(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    with ScriptedBroker() as second:
        broker.others.append(second)
        second.script(Api.FETCH, fetched(RECORDS))
        fetch(fetcher)
        broker.leader_id = 2
        broker.script(Api.FETCH, fetched(None, error_code=Code.NOT_LEADER_OR_FOLLOWER))
        assert fetch(fetcher, 1) == RECORDS
        assert asked(second).fetch_offset == 1


def test_consumer_with_rack_reads_from_preferred_replica(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    with ScriptedBroker() as second:
        broker.others.append(second)
        second.script(Api.FETCH, fetched(RECORDS), fetched(RECORDS * 2))
        broker.script(Api.FETCH, fetched(preferred=2))
        assert fetch(fetcher) == RECORDS
        assert fetch(fetcher) == RECORDS * 2
        assert len(broker.requests(Api.FETCH)) == 1


def test_replica_without_the_offset_falls_back_to_leader(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    with ScriptedBroker() as second:
        broker.others.append(second)
        second.script(Api.FETCH, fetched(None, error_code=Code.OFFSET_OUT_OF_RANGE))
        broker.script(Api.FETCH, fetched(preferred=2), fetched(RECORDS))
        assert fetch(fetcher) == RECORDS


def test_stopped_replica_falls_back_to_leader(broker: ScriptedBroker, fetcher: PartitionFetcher) -> None:
    with ScriptedBroker() as second:
        broker.others.append(second)
    broker.script(Api.FETCH, fetched(preferred=2), fetched(RECORDS))
    assert fetch(fetcher) == RECORDS


def test_kafkalet_selects_replica_by_rack() -> None:
    config = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    with kafkalet.Cluster(brokers=2, racks=["a", "b"], config=config) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        cluster.topic("t").append(RECORDS)
        result = {"client.rack": "b", **QUICK, "default.api.timeout.ms": "10000"}
        with (
            LiveBroker(cluster.bootstrap_servers, result) as live,
            closing(PartitionFetcher(live, "t", 0)) as fetcher,
        ):
            fetcher.ask(0)
            answer = fetcher.answer()
            assert answer.end - answer.start == len(RECORDS)
            assert fetcher.address == live.metadata.brokers[2]
