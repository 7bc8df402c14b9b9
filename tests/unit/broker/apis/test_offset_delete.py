"""`kafkalet.broker.apis.offset_delete`: which offsets may be deleted."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.acting import Acting, subscription
from tests.unit.broker.groups.committing import Committing, committing, errors_of


def test_deleted_offsets_stay_deleted_after_a_restart() -> None:
    with committing() as client:
        client.commit({0: 5, 1: 6})
        assert errors_of(client.delete(0, 2, 9)) == {("t", 9): 3, ("t", 0): 0, ("t", 2): 0}
        assert client.fetch(0, 1) == [-1, 6]
        client.stage.restart()
        assert Committing(client.stage).fetch(0, 1) == [-1, 6]


def test_only_committed_offsets_leave_a_tombstone() -> None:
    with committing() as client:
        client.commit({0: 5})
        end_offset = client.shard.log.end_offset
        client.delete(1, 2)
        assert client.shard.log.end_offset == end_offset
        client.delete(0, 1)
        assert client.shard.log.end_offset == end_offset + 1


def test_pending_offset_is_deleted() -> None:
    with committing() as client:
        producer = client.begin_transaction()
        client.commit_in(producer, {0: 50, 1: 51})
        client.delete(0)
        client.end_transaction(producer, committed=True)
        assert client.fetch(0, 1) == [-1, 51]


@pytest.mark.parametrize(("group_id", "code"), [("missing", Code.GROUP_ID_NOT_FOUND), ("", Code.INVALID_GROUP_ID)])
def test_invalid_group_is_refused(group_id: str, code: int) -> None:
    with committing() as client:
        answer = Committing(client.stage, group_id).delete(0)
        assert (answer["error_code"], answer["topics"]) == (code, [])


def test_offsets_of_subscribed_topics_are_kept() -> None:
    with committing() as client:
        client.stage.cluster.topic("u").create(1)
        members = Acting(client.stage)
        generation, [member_id] = members.stable(protocols={"range": subscription("t")})
        for topic in ("t", "u"):
            client.commit({0: 5}, topic=topic, generation_id_or_member_epoch=generation, member_id=member_id)
        assert errors_of(client.delete(0)) == {("t", 0): Code.GROUP_SUBSCRIBED_TO_TOPIC}
        assert errors_of(client.delete(0, topic="u")) == {("u", 0): 0}
        assert (client.fetch(0), client.fetch(0, topic="u")) == ([5], [-1])


def test_members_with_unknown_subscriptions_keep_all_offsets() -> None:
    with committing() as client:
        Acting(client.stage).stable(protocol_type="connect")
        answer = client.delete(0)
        assert (answer["error_code"], answer["topics"]) == (Code.NON_EMPTY_GROUP, [])


@pytest.mark.parametrize(("kafka_version", "state"), [("newest", "Empty"), ("3.9", "Dead")])
def test_group_is_removed_with_its_last_offset_before_4_0(kafka_version: str, state: str) -> None:
    with committing(version=kafka_version) as client:
        client.commit({0: 5, 1: 6})
        group = client.stage.cluster.group("g")
        client.delete(0)
        assert group.state == "Empty"
        client.delete(1)
        assert group.state == state


@pytest.mark.parametrize(("kafka_version", "answers"), [("newest", 2), ("3.9", 1)])
def test_duplicate_partition_is_returned_once_before_4_0(kafka_version: str, answers: int) -> None:
    with committing(version=kafka_version) as client:
        client.commit({0: 5})
        assert len(client.delete(0, 0)["topics"][0]["partitions"]) == answers


def test_response_waits_for_the_replicas() -> None:
    with committing(3) as client:
        client.commit({0: 5})
        client.stage.settle()
        follower = client.node % 3 + 1
        client.stage.cluster.hold_replication(follower, "__consumer_offsets")
        topics = [{"name": "t", "partitions": [{"partition_index": 0}]}]
        pending = client.stage.begin(Api.OFFSET_DELETE, 0, client.node, group_id="g", topics=topics)
        assert pending.is_waiting
        assert client.fetch(0) == [5]
        client.stage.clock.advance(milliseconds=5000)
        client.stage.settle()
        assert pending.answer()["error_code"] == Code.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(("release", "topics"), [("3.9", 1), ("4.4", 2)])
def test_topic_listed_twice_is_returned_twice_since_4_0(release: str, topics: int) -> None:
    with committing(version=release) as client:
        client.commit({0: 5})
        asked = [{"name": "t", "partitions": [{"partition_index": index}]} for index in (0, 1)]
        answer = client.stage.ask(Api.OFFSET_DELETE, 0, client.node, group_id=client.group_id, topics=asked)
        assert len(answer["topics"]) == topics
