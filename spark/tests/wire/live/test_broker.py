from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet_spark.live.broker import LiveBroker, Patience
from kafkalet_spark.live.client_properties import Settings
from kafkalet_spark.live.lookups import EARLIEST, LATEST, Found, Lookup
from kafkalet_spark.live.refusals import PartitionRefused, Unreachable

from .scripted import HANG_UP, ScriptedBroker, found

SETTINGS = Settings.of({"retry.backoff.ms": "1", "retry.backoff.max.ms": "4", "default.api.timeout.ms": "1000"})


def test_retries_end_with_the_timeout() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock)
    assert patience.pause()
    clock.advance(milliseconds=999)
    assert not patience.is_over
    assert patience.pause()
    clock.advance(milliseconds=1)
    assert patience.is_over
    assert not patience.pause()


def test_progress_resets_the_timeout() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock)
    clock.advance(milliseconds=1000)
    patience.begin_again()
    assert not patience.is_over
    clock.advance(milliseconds=999)
    assert patience.pause()


def test_timeout_can_be_set() -> None:
    clock = ManualClock()
    patience = Patience(SETTINGS, clock, 10)
    clock.advance(milliseconds=10)
    assert patience.is_over


def test_backoff_grows_up_to_a_limit() -> None:
    patience = Patience(SETTINGS, ManualClock())
    pauses = []
    for _ in range(5):
        pauses.append(patience._next_ms)
        patience.pause()
    assert pauses == [1, 2, 4, 4, 4]


QUICK = {"retry.backoff.ms": "1", "default.api.timeout.ms": "300"}


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as running:
        yield running


@pytest.fixture
def live(broker: ScriptedBroker) -> Iterator[LiveBroker]:
    with LiveBroker(broker.bootstrap_servers, QUICK) as client:
        yield client


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=3) as running:
        running.topic("wide").create(3, replication_factor=3)
        for index in range(3):
            running.topic("wide").append(batch(1000 + index, index + 1), index)
        yield running


def batch(timestamp: int, count: int) -> bytes:
    return build_batch(numbered([(timestamp + number, None, b"v", ()) for number in range(count)]))


# Addresses and properties


@pytest.mark.parametrize("servers", ["", ",", "nowhere", "a:1,b"])
def test_invalid_addresses_are_rejected_immediately(servers: str) -> None:
    with pytest.raises(ValueError, match=r"bootstrap\.servers"):
        LiveBroker(servers)


def test_unsupported_properties_are_rejected_immediately() -> None:
    with pytest.raises(ValueError, match=r"ssl\.provider"):
        LiveBroker("a:1", {"ssl.provider": "x"})


def test_one_reachable_address_is_enough(broker: ScriptedBroker) -> None:
    with ScriptedBroker() as gone:
        unreachable = gone.bootstrap_servers
    with LiveBroker(f"{unreachable},{broker.bootstrap_servers}", QUICK) as live:
        assert live.topics() == {"t": 3}


def test_unreachable_cluster_is_retried_until_the_timeout(broker: ScriptedBroker) -> None:
    with ScriptedBroker() as gone:
        unreachable = gone.bootstrap_servers
    with (
        LiveBroker(unreachable, QUICK) as live,
        pytest.raises(Unreachable, match=f"cannot connect to broker {unreachable}"),
    ):
        live.topics()


# Topics


def test_topics_have_partition_counts(live: LiveBroker) -> None:
    assert live.topics() == live.topics(["t"]) == {"t": 3}
    assert live.topics([]) == {}


def test_unknown_topic_is_named(cluster: kafkalet.Cluster) -> None:
    with (
        LiveBroker(cluster.bootstrap_servers, QUICK) as live,
        pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: topic nothing") as refused,
    ):
        live.topics(["wide", "nothing"])
    assert refused.value.code is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert "nothing" not in cluster._server.metadata.topics


def test_new_topic_is_waited_for(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(
        Api.METADATA,
        broker.metadata(topic_error=Code.UNKNOWN_TOPIC_OR_PARTITION),
        broker.metadata(topic_error=Code.LEADER_NOT_AVAILABLE),
    )
    assert live.topics(["t"]) == {"t": 3}


def test_unauthorized_topic_is_not_retried(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.METADATA, broker.metadata(topic_error=Code.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED: topic t"):
        live.topics(["t"])


def test_internal_topics_are_returned_on_request(broker: ScriptedBroker, live: LiveBroker) -> None:
    def internal(request: MetadataRequest) -> MetadataResponse:
        answer = broker.metadata()
        answer.topics[0].is_internal = True
        return answer

    broker.script(Api.METADATA, internal, internal, internal)
    assert live.topics() == {}
    assert live.topics(internal=True) == {"t": 3}
    assert live.topics(["t"]) == {"t": 3}


def test_deleted_topic_is_no_longer_listed() -> None:
    with kafkalet.Broker(topics=["a", "b"]) as running, LiveBroker(running.bootstrap_servers) as live:
        assert live.topics() == {"a": 1, "b": 1}
        running.topic("a").delete()
        assert live.topics() == {"b": 1}


def test_broker_without_cluster_metadata_is_retried(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.METADATA, broker.metadata(error_code=Code.REBOOTSTRAP_REQUIRED), HANG_UP)
    assert live.topics() == {"t": 3}


# Several brokers


def test_requests_go_to_the_leaders_advertised_address(cluster: kafkalet.Cluster) -> None:
    with LiveBroker(cluster.bootstrap_servers.split(",")[1]) as live:
        ends = live.list_offsets({("wide", index): LATEST for index in range(3)})
        assert [ends["wide", index].offset for index in range(3)] == [1, 2, 3]
        assert len({leader.node_id for leader in live.metadata.leaders.values()}) == 3
        found = live.list_offsets({("wide", 0): EARLIEST, ("wide", 1): 1002, ("wide", 2): 1005})
    assert found == {("wide", 0): Found(0, -1, 0), ("wide", 1): Found(1, 1002, 0), ("wide", 2): Found(-1, -1, -1)}


def test_stopped_leader_is_replaced(cluster: kafkalet.Cluster) -> None:
    with LiveBroker(cluster.bootstrap_servers) as live:
        wanted = {("wide", index): LATEST for index in range(3)}
        live.list_offsets(wanted)
        stopped = live.metadata.leaders["wide", 1].node_id
        cluster.broker(stopped).stop()
        try:
            assert [each.offset for each in live.list_offsets(wanted).values()] == [1, 2, 3]
            assert live.metadata.leaders["wide", 1].node_id != stopped
        finally:
            cluster.broker(stopped).start()


def test_former_leader_gets_no_second_request(cluster: kafkalet.Cluster) -> None:
    with LiveBroker(cluster.bootstrap_servers) as live:
        live.list_offsets({("wide", 2): LATEST})
        leader = live.metadata.leaders["wide", 2]
        other = next(node_id for node_id in cluster._server.nodes if node_id != leader.node_id)
        cluster.topic("wide").move_leader(other, 2)
        lookups = [Lookup("wide", 2, 1002 + number % 3) for number in range(1000)]
        answers = live.look_up(lookups)
        assert [each.offset for each in answers if isinstance(each, Found)] == [number % 3 for number in range(1000)]
        assert live.metadata.leaders["wide", 2].node_id == other


def test_missing_partition_is_rejected(live: LiveBroker) -> None:
    with pytest.raises(PartitionRefused, match="UNKNOWN_TOPIC_OR_PARTITION: Metadata of t-3"):
        live.list_offsets({("t", 3): LATEST})


def test_partition_without_leader_is_waited_for(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.METADATA, broker.metadata(leader_id=-1), broker.metadata(leader_id=9))
    assert live.list_offsets({("t", 0): 4})["t", 0].offset == 4
    assert len(broker.requests(Api.METADATA)) == 3


def test_partition_without_leader_fails_after_the_timeout(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.leader_id = -1
    with pytest.raises(PartitionRefused, match="LEADER_NOT_AVAILABLE: ListOffsets of t-0"):
        live.list_offsets({("t", 0): LATEST})


def test_unreachable_leader_is_retried_until_another_leads(broker: ScriptedBroker, live: LiveBroker) -> None:
    with ScriptedBroker() as gone:
        broker.others.append(gone)
    broker.script(Api.METADATA, broker.metadata(leader_id=2), broker.metadata(leader_id=2))
    assert live.list_offsets({("t", 0): 4})["t", 0].offset == 4


def test_connections_are_reused_and_closed(broker: ScriptedBroker) -> None:
    with LiveBroker(broker.bootstrap_servers) as live:
        for _ in range(5):
            live.list_offsets({("t", 0): LATEST})
            live.topics()
        assert broker.connections == 1


def test_connection_closed_by_broker_is_replaced(broker: ScriptedBroker, live: LiveBroker) -> None:
    broker.script(Api.LIST_OFFSETS, found, HANG_UP)
    assert live.list_offsets({("t", 0): 4})["t", 0].offset == 4
    assert live.list_offsets({("t", 0): 5})["t", 0].offset == 5
    assert broker.connections == 2
