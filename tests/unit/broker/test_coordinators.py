"""The coordinators of a broker: created on first use, loaded when it becomes leader, and emptied when it is no
longer.
"""

from collections.abc import Iterator

import pytest

from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS
from kafkalet.broker.coordinators import Coordinators
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.groups.committing import QUICK, Committing
from tests.unit.model.stage import Stage

OFFSETS = CONSUMER_OFFSETS.name


@pytest.fixture
def client() -> Iterator[Committing]:
    stage = Stage(2, **QUICK)
    stage.cluster.topic("t").create(1, replication_factor=2)
    yield Committing(stage)
    stage.close()


def coordinators(client: Committing, node: int) -> Coordinators:
    return client.stage.cluster._server.brokers[node].coordinators


def test_coordinator_is_created_on_first_use(client: Committing) -> None:
    with pytest.raises(KafkaError) as refused:
        coordinators(client, 1).partition_for(CONSUMER_OFFSETS, "g")
    assert refused.value.code == Code.NOT_COORDINATOR
    assert OFFSETS not in client.stage.cluster._server.metadata.topics
    assert coordinators(client, 1).made == []


def test_leader_of_the_partition_is_the_coordinator(client: Committing) -> None:
    leader = client.node
    assert coordinators(client, leader).partition_for(CONSUMER_OFFSETS, "g") == 0
    with pytest.raises(KafkaError) as refused:
        coordinators(client, 3 - leader).partition_for(CONSUMER_OFFSETS, "g")
    assert refused.value.code == Code.NOT_COORDINATOR


def test_state_is_loaded_after_the_election_without_a_request(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.settle()
    old = client.node
    assert set(coordinators(client, old).groups.loaded()) == {0}
    client.stage.cluster.topic(OFFSETS).move_leader(3 - old)
    client.stage.settle()
    assert coordinators(client, old).groups.loaded() == {}
    assert coordinators(client, 3 - old).groups.loaded() == {0: 1}
    assert client.node == 3 - old
    assert client.fetch(0) == [5]


def test_first_request_after_the_election_finds_the_state_loaded(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.settle()
    old = client.node
    client.stage.cluster.topic(OFFSETS).move_leader(3 - old)
    assert client.fetch(0) == [5]  # no deferred callback has run in between
    answer = client.stage.ask(Api.OFFSET_FETCH, 7, old, group_id="g", topics=None)
    assert answer["error_code"] == Code.NOT_COORDINATOR


def test_leader_in_a_new_epoch_loads_the_state_again(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.settle()
    first = client.shard
    for leader in (3 - client.node, client.node):
        client.stage.cluster.topic(OFFSETS).move_leader(leader)
    assert client.shard is not first
    assert client.shard.log.leader_epoch == 2
    assert client.fetch(0) == [5]


def test_next_broker_takes_over_when_the_coordinator_stops(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.settle()
    gone = client.node
    client.stage.stop_broker(gone)
    assert client.node == 3 - gone
    assert client.fetch(0) == [5]
    assert client.commit({0: 6}) == {("t", 0): 0}
    client.stage.start_broker(gone)
    assert client.fetch(0) == [6]


def test_deletion_of_the_topic_discards_the_state(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.cluster.topic(OFFSETS).delete()
    with pytest.raises(KafkaError) as refused:
        coordinators(client, 1).partition_for(CONSUMER_OFFSETS, "g")
    assert refused.value.code == Code.NOT_COORDINATOR
    client.stage.settle()
    assert [coordinators(client, node).groups.loaded() for node in (1, 2)] == [{}, {}]
    assert client.fetch(0) == [-1]  # looking up the coordinator creates the topic again


def test_start_loads_everything_that_was_written(client: Committing) -> None:
    client.commit({0: 5})
    client.stage.restart()
    loaded = [coordinators(client, node).made for node in (1, 2)]
    assert sorted(len(made) for made in loaded) == [0, 1]
    assert client.fetch(0) == [5]


def test_deletion_of_a_partition_affects_only_coordinators_with_its_offsets(client: Committing) -> None:
    coordinators(client, 1).partitions_deleted("t", [0])
    assert coordinators(client, 1).made == []
    client.commit({0: 5})
    coordinators(client, client.node).partitions_deleted(OFFSETS, [0])
    coordinators(client, client.node).partitions_deleted("other", [0])
    assert client.fetch(0) == [5]
