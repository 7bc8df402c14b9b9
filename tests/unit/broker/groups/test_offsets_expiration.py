"""Removal of committed offsets by age or with their topic, and of groups with their last offset."""

from typing import Any

import pytest

from kafkalet.broker.groups.offsets_expiration import remove_expired
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError

from .acting import Acting, subscription
from .committing import Committing, committing

Said = dict[str, Any]

RETENTION_MS = 60_000
ROUND_MS = 1000
SHORT = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": str(ROUND_MS)}


def groups_of(client: Committing) -> list[str]:
    return sorted(client.shard.groups)


def test_offsets_of_simple_group_expire_separately_and_group_with_last_one() -> None:
    with committing(config=SHORT) as client:
        client.commit({0: 5})
        client.stage.clock.advance(milliseconds=RETENTION_MS // 2)
        client.commit({1: 6})
        client.stage.clock.advance(milliseconds=RETENTION_MS // 2 - 2 * ROUND_MS)
        assert client.fetch(0, 1) == [5, 6]
        client.stage.clock.advance(milliseconds=4 * ROUND_MS)
        assert client.fetch(0, 1) == [-1, 6]
        assert groups_of(client) == ["g"]
        client.stage.clock.advance(milliseconds=RETENTION_MS // 2)
        assert client.fetch(0, 1) == [-1, -1]
        assert groups_of(client) == []
        client.stage.restart()
        assert groups_of(Committing(client.stage)) == []


def test_offset_with_retention_time_expires_at_that_time() -> None:
    with committing(config=SHORT) as client:
        client.commit({0: 5}, version=3, retention_time_ms=10_000)
        client.commit({1: 6}, version=3, retention_time_ms=2 * RETENTION_MS)
        client.stage.clock.advance(milliseconds=11_000)
        assert client.fetch(0, 1) == [-1, 6]
        client.stage.clock.advance(milliseconds=RETENTION_MS)
        assert client.fetch(0, 1) == [-1, 6]
        client.stage.clock.advance(milliseconds=RETENTION_MS)
        assert client.fetch(0, 1) == [-1, -1]


def test_before_kip_211_each_offset_expires_separately() -> None:
    with committing(version="2.0", config=SHORT) as client:
        client.commit({0: 5}, version=2)
        [committed] = [one for each in client.shard.offsets.committed("g").values() for one in each.values()]
        assert committed.expire_timestamp_ms == client.stage.clock.now_ms() + RETENTION_MS


def test_offsets_of_subscribed_topic_do_not_expire() -> None:
    with committing(config=SHORT) as client:
        client.stage.cluster.topic("u").create(1)
        members = Acting(client.stage)
        generation, [member_id] = members.stable(protocols={"range": subscription("t")})
        who: Said = {"generation_id_or_member_epoch": generation, "member_id": member_id}
        assert client.commit({0: 5}, **who) == {("t", 0): 0}
        assert client.commit({0: 5}, topic="u", **who) == {("u", 0): 0}
        for _ in range(2 * RETENTION_MS // 5000):
            client.stage.clock.advance(milliseconds=5000)
            members.heartbeat(generation, member_id)
        assert (client.fetch(0), client.fetch(0, topic="u")) == ([5], [-1])
        assert members.state == "Stable"


def test_offset_retention_starts_when_last_member_leaves() -> None:
    with committing(config=SHORT) as client:
        members = Acting(client.stage)
        generation, [member_id] = members.stable(protocols={"range": subscription("t")})
        client.commit({0: 5}, generation_id_or_member_epoch=generation, member_id=member_id)
        for _ in range(RETENTION_MS // 5000):
            client.stage.clock.advance(milliseconds=5000)
            members.heartbeat(generation, member_id)
        assert members.leave(member_id) == [0]
        client.stage.clock.advance(milliseconds=RETENTION_MS - 2 * ROUND_MS)
        assert client.fetch(0) == [5]
        client.stage.clock.advance(milliseconds=4 * ROUND_MS)
        assert client.fetch(0) == [-1]
        assert groups_of(client) == []


def test_offset_with_pending_transaction_does_not_expire() -> None:
    with committing(config=SHORT) as client:
        client.commit({0: 5, 1: 6})
        client.stage.clock.advance(milliseconds=RETENTION_MS - 500)
        producer = client.begin_transaction()
        client.commit_in(producer, {0: 50})
        client.stage.clock.advance(milliseconds=1000)
        remove_expired(client.shard)
        assert client.fetch(0, 1) == [5, -1]
        client.end_transaction(producer, committed=True)
        assert client.fetch(0) == [50]


def test_expiration_that_cannot_be_written_is_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with committing(config=SHORT) as client:
        client.commit({0: 5})
        client.stage.clock.advance(milliseconds=RETENTION_MS - 500)
        shard = client.shard

        def refuse(*_: object, **__: object) -> int:
            raise KafkaError(Code.NOT_ENOUGH_REPLICAS)

        with monkeypatch.context() as patched:
            patched.setattr(shard.log, "append_encoded", refuse)
            client.stage.clock.advance(milliseconds=1000)
            remove_expired(shard)
        assert "cannot remove" in caplog.text
        assert client.fetch(0) == [5]
        remove_expired(shard)
        assert client.fetch(0) == [-1]


def test_offsets_are_removed_with_deleted_topic() -> None:
    with committing() as client:
        client.stage.cluster.topic("u").create(1)
        client.commit({0: 5, 2: 7})
        client.commit({0: 8}, topic="u")
        client.stage.ask(Api.DELETE_TOPICS, 3, 1, topic_names=["t"], timeout_ms=1000)
        assert client.fetch(0, 1, 2) == [-1, -1, -1]
        assert client.fetch(0, topic="u") == [8]
        client.stage.restart()
        assert Committing(client.stage).fetch(0, 1, 2) == [-1, -1, -1]


@pytest.mark.parametrize(("kafka_version", "left"), [("newest", ["g"]), ("3.9", [])])
def test_before_4_0_group_is_removed_with_topic_of_last_offset(kafka_version: str, left: list[str]) -> None:
    with committing(version=kafka_version) as client:
        client.commit({0: 5})
        client.stage.ask(Api.DELETE_TOPICS, 3, 1, topic_names=["t"], timeout_ms=1000)
        assert groups_of(client) == left


def test_offsets_of_deleted_topic_stay_if_tombstones_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with committing() as client:
        client.commit({0: 5})

        def refuse(*_: object, **__: object) -> int:
            raise KafkaError(Code.NOT_ENOUGH_REPLICAS)

        monkeypatch.setattr(client.shard.log, "append_encoded", refuse)
        client.stage.ask(Api.DELETE_TOPICS, 3, 1, topic_names=["t"], timeout_ms=1000)
        assert "cannot remove offsets of deleted topic" in caplog.text
        assert client.fetch(0) == [5]


@pytest.mark.parametrize(
    ("commit_timestamp_ms", "is_kept"),
    [((1 << 63) - 1, True), (-(1 << 63), True), (10**15, True), (0, False), (-2, False)],
)
def test_age_of_offset_wraps_as_in_java(commit_timestamp_ms: int, is_kept: bool) -> None:
    with committing() as client:
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": None}
        topics = [{"name": "t", "partitions": [{**partition, "commit_timestamp": commit_timestamp_ms}]}]
        client.begin_commit({}, version=1, topics=topics)
        remove_expired(client.shard)
        assert client.fetch(0) == [5 if is_kept else -1]
