"""`kafkalet.broker.apis.offset_fetch`: committed and pending offsets, in the format of each version."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.committing import Committing, committing, offsets_of

NOTHING = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": "", "error_code": 0}


def fetch_groups(client: Committing, version: int, *groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = client.stage.ask(Api.OFFSET_FETCH, version, client.node, groups=list(groups), **more)
    assert isinstance(answer, dict)
    return {group["group_id"]: (group["error_code"], group["topics"]) for group in answer["groups"]}


def of(topic: str, *indexes: int) -> dict[str, Any]:
    return {"name": topic, "partition_indexes": list(indexes)}


@pytest.mark.parametrize("version", range(8))
def test_every_version_for_a_single_group_returns_offsets(version: int) -> None:
    with committing() as client:
        partition = {
            "partition_index": 0,
            "committed_offset": 5,
            "committed_leader_epoch": 2,
            "committed_metadata": "m",
        }
        client.commit({}, topics=[{"name": "t", "partitions": [partition]}])
        answer = client.begin_fetch(0, 1, 9, version=version).answer()
        found, missing, unknown = answer["topics"][0]["partitions"]
        assert (found["committed_offset"], found["metadata"], found["error_code"]) == (5, "m", 0)
        assert found["committed_leader_epoch"] == (2 if version >= 5 else -1)
        assert missing == {"partition_index": 1} | NOTHING
        assert unknown == {"partition_index": 9} | NOTHING


@pytest.mark.parametrize("version", range(2, 8))
def test_null_topics_return_all_offsets(version: int) -> None:
    with committing() as client:
        client.commit({0: 5, 2: 6})
        assert offsets_of(client.begin_fetch(version=version, topics=None).answer()) == [5, 6]
        missing = client.begin_fetch(version=version, topics=None, group_id="missing").answer()
        assert (missing["topics"], missing["error_code"]) == ([], 0)


@pytest.mark.parametrize("version", [8, 9])
def test_several_groups_are_fetched_in_one_request(version: int) -> None:
    with committing() as client:
        client.commit({0: 5, 1: 6})
        Committing(client.stage, "h").commit({0: 7})
        found = fetch_groups(
            client,
            version,
            {"group_id": "g", "topics": [of("t", 0, 2)]},
            {"group_id": "h", "topics": None},
            {"group_id": "missing", "topics": [of("t", 0)]},
        )
        assert [one["committed_offset"] for one in found["g"][1][0]["partitions"]] == [5, -1]
        assert [(one["partition_index"], one["committed_offset"]) for one in found["h"][1][0]["partitions"]] == [(0, 7)]
        assert found["missing"][1][0]["partitions"] == [{"partition_index": 0} | NOTHING]
        assert fetch_groups(client, version) == {}


def test_fetch_by_topic_id() -> None:
    with committing() as client:
        client.commit({0: 5})
        topic_id = client.stage.cluster._server.metadata.topics["t"].topic_id
        asked = [{"topic_id": topic_id, "partition_indexes": [0]}, {"topic_id": b"?" * 16, "partition_indexes": [0]}]
        [known, unknown] = fetch_groups(client, 10, {"group_id": "g", "topics": asked})["g"][1]
        assert (known["topic_id"], known["partitions"][0]["committed_offset"]) == (topic_id, 5)
        assert unknown["partitions"][0]["error_code"] == Code.UNKNOWN_TOPIC_ID
        [every] = fetch_groups(client, 10, {"group_id": "g", "topics": None})["g"][1]
        assert every == known


@pytest.mark.parametrize(("version", "where"), [(1, "partitions"), (2, "top"), (7, "top"), (8, "group")])
def test_group_error_is_returned_in_the_field_of_the_version(version: int, where: str) -> None:
    with committing(3) as client:
        other = client.node % 3 + 1
        if where == "group":
            answer = client.stage.ask(
                Api.OFFSET_FETCH, version, other, groups=[{"group_id": "g", "topics": [of("t", 0)]}]
            )
            assert answer["groups"] == [{"group_id": "g", "topics": [], "error_code": Code.NOT_COORDINATOR}]
            return
        answer = client.stage.ask(Api.OFFSET_FETCH, version, other, group_id="g", topics=[of("t", 0, 1)])
        if where == "top":
            assert (answer["error_code"], answer["topics"]) == (Code.NOT_COORDINATOR, [])
        else:
            errors = [partition["error_code"] for partition in answer["topics"][0]["partitions"]]
            assert (answer["error_code"], errors) == (0, [Code.NOT_COORDINATOR] * 2)


def test_require_stable_refuses_pending_offsets() -> None:
    with committing() as client:
        client.commit({0: 5, 1: 6})
        producer = client.begin_transaction()
        client.commit_in(producer, {0: 50, 2: 52})
        unstable = -Code.UNSTABLE_OFFSET_COMMIT
        assert client.fetch(0, 1, 2) == [5, 6, -1]
        assert client.fetch(0, 1, 2, require_stable=True) == [unstable, 6, unstable]
        every = client.begin_fetch(topics=None, require_stable=True).answer()
        assert offsets_of(every) == [unstable, 6]
        client.end_transaction(producer, committed=True)
        assert client.fetch(0, 1, 2, require_stable=True) == [50, 6, 52]


def test_require_stable_waits_for_the_replicas() -> None:
    with committing(3) as client:
        client.commit({0: 5})
        client.stage.settle()
        follower = client.node % 3 + 1
        held = client.stage.cluster.hold_replication(follower, "__consumer_offsets")
        client.begin_commit({0: 6})
        assert client.fetch(0) == [5]
        pending = client.begin_fetch(0, require_stable=True)
        assert pending.is_waiting
        held.release()
        client.stage.settle()
        assert offsets_of(pending.answer()) == [6]
        client.stage.cluster.hold_replication(follower, "__consumer_offsets")
        client.begin_commit({0: 7})
        pending = client.begin_fetch(0, require_stable=True)
        client.stage.clock.advance(milliseconds=5000)
        client.stage.settle()
        assert pending.answer()["error_code"] == Code.NOT_COORDINATOR


def test_require_stable_does_not_wait_for_replicas_before_4_0() -> None:
    with committing(3, "3.9") as client:
        client.commit({0: 5})
        client.stage.settle()
        client.stage.cluster.hold_replication(client.node % 3 + 1, "__consumer_offsets")
        client.begin_commit({0: 6})
        assert client.fetch(0) == [5]
        assert client.fetch(0, 1, require_stable=True) == [-Code.UNSTABLE_OFFSET_COMMIT, -1]


def test_duplicate_partition_is_returned_once_before_4_0() -> None:
    topics = [of("t", 0, 0), of("u"), of("t", 0, 1)]
    with committing(version="3.9") as client:
        answer = client.begin_fetch(topics=topics).answer()
        assert [(topic["name"], len(topic["partitions"])) for topic in answer["topics"]] == [("t", 2)]
    with committing() as client:
        answer = client.begin_fetch(topics=topics).answer()
        assert [(topic["name"], len(topic["partitions"])) for topic in answer["topics"]] == [
            ("t", 2),
            ("u", 0),
            ("t", 2),
        ]


def test_v0_is_refused_without_zookeeper() -> None:
    with committing(version="3.9") as client:
        answer = client.begin_fetch(0, 0, 9, version=0).answer()
        assert [one["error_code"] for one in answer["topics"][0]["partitions"]] == [35, 35]
