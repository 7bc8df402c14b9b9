"""The group coordinator of a broker: it finds the shard of a group and manages all shards."""

import pytest

from kafkalet.broker.groups.coordinator import LONGEST_REMEMBERED, GroupCoordinator
from kafkalet.protocol.errors import Code, KafkaError

from .committing import Committing, committing


def coordinator_of(client: Committing) -> GroupCoordinator:
    groups: GroupCoordinator = client.stage.cluster._server.brokers[client.node].coordinators.groups
    return groups


def test_group_needs_group_id_but_offsets_do_not() -> None:
    with committing() as client:
        groups = coordinator_of(client)
        with pytest.raises(KafkaError) as refused:
            groups.shard_of("")
        assert refused.value.code == Code.INVALID_GROUP_ID
        assert groups.shard_for_offsets("") is groups.shard_of("g")


def test_groups_are_distributed_over_partitions() -> None:
    with committing(config={"offsets.topic.num.partitions": "3"}) as client:
        groups = coordinator_of(client)
        places = {name: groups.shard_of(name).log.index for name in ("g0001", "new20001", "g")}
        assert places == {"g0001": 2, "new20001": 0, "g": 1}
        assert sorted(shard.log.index for shard in groups.shards()) == [0, 1, 2]
        assert groups.loaded() == {0: 0, 1: 0, 2: 0}


def test_group_of_another_broker_returns_not_coordinator() -> None:
    with committing(2) as client:
        other = client.stage.cluster._server.brokers[3 - client.node].coordinators.groups
        with pytest.raises(KafkaError) as refused:
            other.shard_of("g")
        assert refused.value.code == Code.NOT_COORDINATOR


def test_group_is_not_found_after_leadership_changed() -> None:
    with committing(2) as client:
        groups = coordinator_of(client)
        shard = groups.shard_of("g")
        assert groups.shard_of("g") is shard
        client.stage.cluster.topic("__consumer_offsets").move_leader(3 - client.node)
        with pytest.raises(KafkaError) as refused:
            groups.shard_of("g")
        assert refused.value.code == Code.NOT_COORDINATOR


def test_group_is_not_found_after_topic_was_deleted() -> None:
    with committing() as client:
        groups = coordinator_of(client)
        groups.shard_of("g")
        client.stage.cluster.topic("__consumer_offsets").delete()
        with pytest.raises(KafkaError) as refused:
            groups.shard_of("g")
        assert refused.value.code == Code.NOT_COORDINATOR


def test_number_of_cached_group_ids_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalet.broker.groups.coordinator.FOUND_GROUPS", 10)
    with committing() as client:
        groups = coordinator_of(client)
        for number in range(100):
            groups.shard_of(f"g{number}")
            assert len(groups._found) <= 10


def test_marker_in_unknown_partition_is_ignored() -> None:
    with committing() as client:
        assert client.commit({0: 5}) == {("t", 0): 0}
        coordinator_of(client).transaction_ended(7, 1, committed=True)
        assert client.fetch(0) == [5]


def test_expiration_stops_with_last_shard() -> None:
    with committing() as client:
        groups = coordinator_of(client)
        groups.shard_of("g")
        assert is_expiring(groups)
        groups.unload(0)
        assert not is_expiring(groups)
        client.commit({0: 5})
        assert is_expiring(groups)


def is_expiring(groups: GroupCoordinator) -> bool:
    return groups._expiration.is_running


def test_long_group_ids_are_not_cached() -> None:
    with committing() as client:
        groups = coordinator_of(client)
        long = "g" * (LONGEST_REMEMBERED + 1)
        assert groups.shard_of(long) is groups.shard_of("g")
        assert list(groups._found) == ["g"]
