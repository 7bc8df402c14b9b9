"""Subscriptions and assignments inside of requests."""

import pytest

from kafkalet.protocol.messages.join_group import JoinGroupRequest
from kafkalet.protocol.messages.subscription import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from kafkalet.protocol.messages.sync_group import SyncGroupRequest
from kafkalet_conformance.clients.observing.rules.subscriptions import Subscriptions

from .synthetic import Exchanges

SUBSCRIPTION = ConsumerProtocolSubscription(topics=["t"], owned_partitions=[TopicPartition(topic="t", partitions=[0])])
ASSIGNMENT = ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="t", partitions=[0, 1])])


def encoded(message: ConsumerProtocolSubscription | ConsumerProtocolAssignment, version: int) -> bytes:
    return version.to_bytes(2, "big") + message.encode(min(version, 3))


def join(metadata: bytes, protocol_type: str = "consumer") -> JoinGroupRequest:
    protocol = JoinGroupRequest.Protocol(name="range", metadata=metadata)
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=1, member_id="", protocol_type=protocol_type, protocols=[protocol]
    )


def sync(assignment: bytes) -> SyncGroupRequest:
    one = SyncGroupRequest.Assignment(member_id="m", assignment=assignment)
    return SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[one])


@pytest.mark.parametrize("version", range(4))
def test_subscription_and_assignment_of_every_version_are_correct(version: int) -> None:
    exchanges = Exchanges(Subscriptions())
    exchanges.sends(join(encoded(SUBSCRIPTION, version)), 5)
    exchanges.sends(sync(encoded(ASSIGNMENT, version)), 3)
    assert exchanges.found == []


def test_newer_version_with_more_fields_is_correct() -> None:
    exchanges = Exchanges(Subscriptions())
    exchanges.sends(join(encoded(SUBSCRIPTION, 9) + b"more"), 5)
    assert exchanges.found == []


@pytest.mark.parametrize(
    "metadata", [b"", b"\0", encoded(SUBSCRIPTION, 1)[:-1], encoded(SUBSCRIPTION, 1) + b"\0", b"\xff\xff" + bytes(12)]
)
def test_malformed_subscription_is_found(metadata: bytes) -> None:
    exchanges = Exchanges(Subscriptions())
    exchanges.sends(join(metadata), 5)
    assert set(exchanges.found) == {"consumer-protocol"}


def test_malformed_assignment_is_found_with_its_position() -> None:
    exchanges = Exchanges(Subscriptions())
    exchanges.sends(join(encoded(SUBSCRIPTION, 0)), 5)
    exchanges.sends(sync(encoded(ASSIGNMENT, 0)[:-4]), 3)
    assert exchanges.texts == ["assignment of 'm', byte 21: user_data: needs 4 bytes, but only 0 left"]


def test_other_protocol_types_are_not_decoded() -> None:
    exchanges = Exchanges(Subscriptions())
    exchanges.sends(join(b"anything", "connect"), 5)
    exchanges.sends(sync(b"anything"), 3)
    assert exchanges.found == []
