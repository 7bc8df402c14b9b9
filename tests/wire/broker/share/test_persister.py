"""Brokers store and read the state of share partitions without requests."""

import pytest

from kafkalet.broker.cluster.state_topics import partition_of
from kafkalet.broker.share.coordinator import coordinator_key
from kafkalet.broker.share.state import SharePartitionState, StateBatch
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import detached

from .requests import ACKNOWLEDGED, Store, store


def test_written_state_is_read_by_another_broker() -> None:
    with store(brokers=2) as share:
        server = share.wire.cluster._server
        first, second = (server.brokers[node_id].share_state for node_id in (1, 2))
        group_id, topic_id, partition = share.key
        batches = [StateBatch(3, 4, ACKNOWLEDGED, 1)]

        def work() -> SharePartitionState:
            detached(first.initialize)(group_id, topic_id, partition, 0, 3).result()
            detached(first.write)(group_id, topic_id, partition, 0, 0, 3, 2, batches).result()
            return detached(second.read)(group_id, topic_id, partition, 0).result()

        state = server.call(work)
        assert (state.start_offset, state.delivery_complete_count, state.batches) == (3, 2, tuple(batches))


def coordinating(share: Store) -> int:
    """Initialize the share partition, and return the broker that stores it."""
    server = share.wire.cluster._server

    def work() -> int:
        detached(server.brokers[1].share_state.initialize)(*share.key, 0, 0).result()
        topic = server.metadata.topics["__share_group_state"]
        return topic.partitions[partition_of(coordinator_key(share.key), len(topic.partitions))].leader

    return server.call(work)


def test_held_replication_delays_a_write() -> None:
    with store(brokers=2) as share:
        server = share.wire.cluster._server
        leader = coordinating(share)
        write = detached(server.brokers[1].share_state.write)
        with share.wire.cluster.hold_replication(3 - leader, "__share_group_state"):
            written = server.call(lambda: write(*share.key, 0, 0, 5, 0, []))
            assert server.call(lambda: written.is_waiting)
        share.wire.until(lambda: not written.is_waiting)
        assert server.call(written.result) is None


def test_stopped_coordinator_is_not_available() -> None:
    with store(config={"share.coordinator.state.topic.replication.factor": 1}, brokers=2) as share:
        server = share.wire.cluster._server
        leader = coordinating(share)
        share.wire.cluster.broker(leader).stop()
        with pytest.raises(KafkaError) as error:
            server.call(lambda: detached(server.brokers[3 - leader].share_state.summary)(*share.key).result())
        assert error.value.code is Code.COORDINATOR_NOT_AVAILABLE
