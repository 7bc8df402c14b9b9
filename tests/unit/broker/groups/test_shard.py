"""The groups of one partition: their records, and the error codes for clients."""

import pytest

from kafkalet.broker.cluster.state_log import StateRecord, client_code
from kafkalet.protocol.errors import Code, KafkaError

from .acting import Acting
from .committing import committing

RECORD = StateRecord(b"\0\x63k", b"v")


@pytest.mark.parametrize(
    ("code", "returned"),
    [
        (Code.NONE, Code.NONE),
        (Code.NOT_ENOUGH_REPLICAS, Code.COORDINATOR_NOT_AVAILABLE),
        (Code.REQUEST_TIMED_OUT, Code.COORDINATOR_NOT_AVAILABLE),
        (Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_COORDINATOR),
        (Code.RECORD_LIST_TOO_LARGE, Code.UNKNOWN_SERVER_ERROR),
        (Code.INVALID_PRODUCER_EPOCH, Code.INVALID_PRODUCER_EPOCH),
    ],
)
def test_log_errors_are_mapped_for_clients(code: Code, returned: Code) -> None:
    assert client_code(code) is returned


def test_append_without_records_writes_nothing() -> None:
    with committing() as client:
        assert client.shard.append([]) == client.shard.log.end_offset - 1 == -1
        assert client.shard.append([RECORD]) == 0
        assert client.shard.append([]) == 0


@pytest.mark.parametrize(("kafka_version", "sequence"), [("newest", 0), ("3.9", -1)])
def test_before_4_0_only_offsets_have_sequence(kafka_version: str, sequence: int) -> None:
    with committing(version=kafka_version) as client:
        client.shard.append([RECORD])
        client.commit({0: 5})
        assert [batch.base_sequence for batch, _ in client.shard.log.read()] == [sequence, 0]


def test_failed_append_raises_error_for_clients() -> None:
    with committing(2, config={"min.insync.replicas": "2"}) as client:
        client.shard.append([RECORD])
        client.stage.stop_broker(3 - client.node)
        with pytest.raises(KafkaError) as refused:
            client.shard.append([RECORD])
        assert refused.value.code == Code.COORDINATOR_NOT_AVAILABLE


def test_replication_timeout_is_mapped_for_clients() -> None:
    with committing(2) as client:
        client.stage.cluster.hold_replication(3 - client.node)
        waiting = client.shard.replicated(client.shard.append([RECORD]))
        client.stage.clock.advance(milliseconds=5000)
        assert waiting.result() == Code.COORDINATOR_NOT_AVAILABLE


def test_close_of_shard_closes_groups() -> None:
    with committing(2) as client:
        members = Acting(client.stage)
        _, [member_id, _] = members.stable(2)
        waiting = members.join(member_id)
        assert waiting.is_waiting
        shard = client.shard
        client.stage.cluster.topic("__consumer_offsets").move_leader(3 - client.node)
        client.stage.settle()
        assert shard.groups == {}
        assert waiting.answer()["error_code"] == Code.NOT_COORDINATOR
