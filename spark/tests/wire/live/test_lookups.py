from collections.abc import Iterator

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.lookups import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    Found,
    Lookup,
)
from kafkalet_spark.live.refusals import PartitionRefused

from .scripted import HANG_UP, ScriptedBroker, found

QUICK = {"retry.backoff.ms": "1", "default.api.timeout.ms": "300"}


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


@pytest.fixture
def live(broker: ScriptedBroker) -> Iterator[LiveBroker]:
    with LiveBroker(broker.bootstrap_servers, QUICK) as client:
        yield client


def partitions(request: ListOffsetsRequest) -> list[tuple[str, int]]:
    return [(topic.name, row.partition_index) for topic in request.topics for row in topic.partitions]


def test_results_are_in_the_order_of_the_lookups(live: LiveBroker) -> None:
    lookups = [Lookup("t", number * 7 % 3, number) for number in range(5000)]
    assert live.look_up(lookups) == [Found(number, number, 5) for number in range(5000)]


def test_partition_is_never_twice_in_one_request(broker: ScriptedBroker, live: LiveBroker) -> None:
    live.look_up([Lookup("t", number // 10 % 3, number) for number in range(60)])
    requests = broker.requests(Api.LIST_OFFSETS)
    assert all(len(set(partitions(request))) == len(partitions(request)) for request in requests)
    assert len(requests) == 20


def test_requests_are_pipelined(broker: ScriptedBroker, live: LiveBroker) -> None:
    """A broker that waits for the next request before it answers one must receive it."""
    waiting: list[ListOffsetsRequest] = []

    def hold(request: ListOffsetsRequest) -> bytes:
        waiting.append(request)
        return b""

    broker.script(Api.LIST_OFFSETS, *[hold] * 9, HANG_UP)
    live.look_up([Lookup("t", 0, number) for number in range(10)])
    assert len(waiting) == 9


def test_both_isolation_levels_are_supported(broker: ScriptedBroker, live: LiveBroker) -> None:
    live.list_offsets({("t", 0): LATEST})
    live.list_offsets({("t", 0): LATEST}, "read_committed")
    assert [request.isolation_level for request in broker.requests(Api.LIST_OFFSETS)] == [0, 1]


def test_isolation_level_defaults_to_the_property(broker: ScriptedBroker) -> None:
    with LiveBroker(broker.bootstrap_servers, {"isolation.level": "read_committed"}) as live:
        live.list_offsets({("t", 0): LATEST})
    assert broker.requests(Api.LIST_OFFSETS)[0].isolation_level == 1


def test_request_has_the_leader_epoch(broker: ScriptedBroker, live: LiveBroker) -> None:
    live.list_offsets({("t", 0): LATEST})
    assert broker.requests(Api.LIST_OFFSETS)[0].topics[0].partitions[0].current_leader_epoch == 5
    assert broker.versions_of(Api.LIST_OFFSETS) == {11}


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [
        (LATEST, 2),
        (EARLIEST, 2),
        (MAX_TIMESTAMP, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
    ],
)
def test_special_timestamp_requires_its_version(timestamp: int, since: int) -> None:
    with (
        ScriptedBroker({Api.LIST_OFFSETS: (0, since)}) as broker,
        ScriptedBroker({Api.LIST_OFFSETS: (0, since - 1)}) as older,
        LiveBroker(broker.bootstrap_servers, QUICK) as live,
        LiveBroker(older.bootstrap_servers, QUICK) as unlucky,
    ):
        assert live.list_offsets({("t", 0): timestamp}) == {("t", 0): Found(-1, -1, 5 if since > 3 else -1)}
        with pytest.raises(KafkaError, match=f"ListOffsets version {since} or later is required"):
            unlucky.list_offsets({("t", 0): timestamp})
        assert not older.requests(Api.LIST_OFFSETS)


@pytest.mark.parametrize(
    "code",
    [
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.LEADER_NOT_AVAILABLE,
        Code.OFFSET_NOT_AVAILABLE,
        Code.KAFKA_STORAGE_ERROR,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        999,
    ],
)
def test_retriable_error_is_retried_with_the_new_leader(broker: ScriptedBroker, live: LiveBroker, code: int) -> None:
    broker.script(Api.LIST_OFFSETS, lambda request: found(request, code))
    assert live.list_offsets({("t", 1): 77}) == {("t", 1): Found(77, 77, 5)}
    assert len(broker.requests(Api.METADATA)) == 2


def test_only_failed_lookups_are_retried(broker: ScriptedBroker, live: LiveBroker) -> None:
    def some(request: ListOffsetsRequest) -> ListOffsetsResponse:
        answer = found(request)
        answer.topics[0].partitions[1].error_code = Code.NOT_LEADER_OR_FOLLOWER
        return answer

    broker.script(Api.LIST_OFFSETS, some)
    answers = live.look_up([Lookup("t", number, number) for number in range(3)])
    assert answers == [Found(number, number, 5) for number in range(3)]
    assert [partitions(request) for request in broker.requests(Api.LIST_OFFSETS)][1:] == [[("t", 1)]]


def test_broken_connection_loses_no_response(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.LIST_OFFSETS, *[found] * 500, HANG_UP)
    lookups = [Lookup("t", 0, number) for number in range(2000)]
    assert live.look_up(lookups) == [Found(number, number, 5) for number in range(2000)]


def test_permanent_error_is_returned_for_its_lookup(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.LIST_OFFSETS, lambda request: found(request, Code.UNSUPPORTED_FOR_MESSAGE_FORMAT))
    first, second = live.look_up([Lookup("t", 0, 5), Lookup("t", 0, 6)])
    assert isinstance(first, PartitionRefused)
    assert str(first) == "UNSUPPORTED_FOR_MESSAGE_FORMAT: ListOffsets for 5 of t-0"
    assert second == Found(6, 6, 5)


def test_list_offsets_raises_permanent_error(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.LIST_OFFSETS, lambda request: found(request, Code.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(PartitionRefused, match="TOPIC_AUTHORIZATION_FAILED: ListOffsets for -1 of t-2"):
        live.list_offsets({("t", 2): LATEST})


def test_retriable_error_is_raised_after_the_timeout(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.LIST_OFFSETS, *[lambda request: found(request, Code.OFFSET_NOT_AVAILABLE)] * 1000)
    with pytest.raises(PartitionRefused, match="OFFSET_NOT_AVAILABLE"):
        live.list_offsets({("t", 2): LATEST})


def test_response_for_another_partition_is_rejected(broker: ScriptedBroker, live: LiveBroker) -> None:
    def other(request: ListOffsetsRequest) -> ListOffsetsResponse:
        request.topics[0].partitions[0].partition_index = 2
        return found(request)

    broker.script(Api.LIST_OFFSETS, other)
    with pytest.raises(DecodeError, match="returned t-2, which was not requested"):
        live.look_up([Lookup("t", 0, number) for number in range(10)])
    assert live.list_offsets({("t", 0): 4})["t", 0].offset == 4


def test_no_lookups_send_no_request(broker: ScriptedBroker, live: LiveBroker) -> None:
    assert live.list_offsets({}) == {}
    assert not broker.asked
