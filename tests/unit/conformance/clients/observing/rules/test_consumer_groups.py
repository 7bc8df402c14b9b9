"""Heartbeats of the consumer protocol."""

from typing import Any

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalet_conformance.clients.observing.rules.consumer_groups import ConsumerMembers

from .synthetic import Exchanges

ID = bytes(range(16))


def beat(epoch: int, owned: list[int] | None = None, **values: Any) -> ConsumerGroupHeartbeatRequest:
    partitions = None
    if owned is not None:
        partitions = [ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=ID, partitions=owned)]
    given: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": epoch, "topic_partitions": partitions}
    return ConsumerGroupHeartbeatRequest(**given | values)


def first(**values: Any) -> ConsumerGroupHeartbeatRequest:
    given: dict[str, Any] = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 1000, "topic_partitions": []}
    return beat(0, **given | values)


def answer(epoch: int, error: Code = Code.NONE, assigned: list[int] | None = None) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if assigned is not None:
        topic = TopicPartitions(topic_id=ID, partitions=assigned)
        assignment = ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[topic])
    return ConsumerGroupHeartbeatResponse(
        error_code=error, member_id="m", member_epoch=epoch, heartbeat_interval_ms=5, assignment=assignment
    )


def member() -> Exchanges:
    """Return exchanges in which m has joined with epoch 4 and partition 0."""
    exchanges = Exchanges(ConsumerMembers())
    exchanges.ask(first(), 1, answer(4, assigned=[0]))
    return exchanges


def test_member_that_joins_sends_heartbeats_and_leaves_is_correct() -> None:
    exchanges = member()
    exchanges.ask(beat(4, [0]), 1, answer(5))
    exchanges.ask(beat(5), 1, answer(5))
    exchanges.ask(beat(-1), 1, answer(-1))
    assert exchanges.found == []


def test_older_epoch_is_found() -> None:
    exchanges = member()
    exchanges.ask(beat(4), 1, answer(5))
    exchanges.sends(beat(4), 1)
    assert exchanges.found == ["heartbeat-epoch"]


def test_epoch_after_leaving_is_found() -> None:
    exchanges = member()
    exchanges.ask(beat(-1), 1, answer(-1))
    exchanges.sends(beat(4), 1)
    assert exchanges.found == ["heartbeat-epoch"]


def test_fenced_member_that_does_not_join_again_is_found() -> None:
    exchanges = member()
    exchanges.ask(beat(4), 1, answer(0, Code.FENCED_MEMBER_EPOCH))
    exchanges.sends(beat(4), 1)
    assert exchanges.found == ["heartbeat-epoch"]


def test_fenced_member_that_joins_again_is_correct() -> None:
    exchanges = member()
    exchanges.ask(beat(4), 1, answer(0, Code.FENCED_MEMBER_EPOCH))
    exchanges.ask(first(), 1, answer(6))
    exchanges.sends(beat(6), 1)
    assert exchanges.found == []


def test_previous_epoch_is_accepted_if_the_response_was_lost() -> None:
    exchanges = member()
    exchanges.answers(exchanges.sends(beat(4), 1), answer(5), is_altered=True)
    exchanges.sends(beat(4), 1)
    assert exchanges.found == []


def test_first_heartbeat_without_a_subscription_is_found() -> None:
    exchanges = Exchanges(ConsumerMembers())
    exchanges.sends(first(subscribed_topic_names=None), 1)
    assert exchanges.found == ["heartbeat-joining"]


def test_first_heartbeat_without_a_member_id_is_found_since_version_1() -> None:
    exchanges = Exchanges(ConsumerMembers())
    exchanges.sends(first(member_id=""), 0)
    exchanges.sends(first(member_id=""), 1)
    assert exchanges.found == ["heartbeat-member-id"]


def test_partition_that_was_not_assigned_is_found() -> None:
    exchanges = member()
    exchanges.sends(beat(4, [0, 3]), 1)
    assert exchanges.found == ["heartbeat-owned"]
