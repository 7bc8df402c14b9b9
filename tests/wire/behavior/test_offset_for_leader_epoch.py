"""OffsetForLeaderEpoch (KIP-101, KIP-320): the end offsets of leader epochs."""

from typing import Any

import pytest

from kafkalet.protocol.errors import Code

from .client import Client, batch


def ask(broker: Client, topic: str, epoch: int, version: int = 3, current: int = -1) -> dict[str, Any]:
    partition = {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}
    body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [partition]}]}
    [said] = broker.ask("OffsetForLeaderEpoch", version, body)["topics"][0]["partitions"]
    found: dict[str, Any] = said
    return found


def test_current_epoch_ends_at_the_log_end(broker: Client) -> None:
    topic = broker.topic()
    broker.produced(topic, batch(10, 20))
    said = ask(broker, topic, 0)
    assert (said["error_code"], said["leader_epoch"], said["end_offset"]) == (0, 0, 2)


@pytest.mark.parametrize("epoch", [-1, 1, 99])
def test_unknown_epoch_has_no_end_offset(broker: Client, epoch: int) -> None:
    """LeaderEpochFileCache.endOffsetFor."""
    topic = broker.topic()
    broker.produced(topic, batch(10))
    said = ask(broker, topic, epoch)
    assert (said["error_code"], said["leader_epoch"], said["end_offset"]) == (0, -1, -1)


def test_future_current_epoch_is_unknown(broker: Client) -> None:
    assert ask(broker, broker.topic(), 0, current=1)["error_code"] == Code.UNKNOWN_LEADER_EPOCH


def test_missing_topic_is_unknown(broker: Client) -> None:
    assert ask(broker, "there-is-no-such-topic", 0)["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
