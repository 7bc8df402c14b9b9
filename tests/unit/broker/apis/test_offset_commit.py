"""`kafkalet.broker.apis.offset_commit`: who may commit, and which fields of each version are stored."""

from typing import Any

import pytest

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.offsets_records import NEVER, CommittedOffset
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.record import wrapped
from tests.unit.broker.groups.acting import Acting
from tests.unit.broker.groups.committing import Committing, committing, errors_of

Said = dict[str, Any]


def kept(client: Committing, index: int = 0) -> CommittedOffset:
    return client.shard.offsets.committed(client.group_id)["t"][index]


@pytest.mark.parametrize("version", range(10))
def test_every_version_commits_for_a_group_without_members(version: int) -> None:
    with committing() as client:
        assert client.commit({0: 5, 2: 6}, version=version, metadata="m") == {("t", 0): 0, ("t", 2): 0}
        assert client.fetch(0, 1, 2) == [5, -1, 6]
        assert kept(client).metadata == "m"
        assert client.stage.cluster.group("g").state == "Empty"


def test_commit_by_topic_id() -> None:
    with committing() as client:
        topic_id = client.stage.cluster._server.metadata.topics["t"].topic_id
        partitions = [{"partition_index": index, "committed_offset": 5, "committed_metadata": ""} for index in (0, 7)]
        topics = [{"topic_id": topic_id, "partitions": partitions}, {"topic_id": b"?" * 16, "partitions": partitions}]
        answer = client.begin_commit({}, version=10, topics=topics).answer()
        found = {
            (topic["topic_id"], partition["partition_index"]): partition["error_code"]
            for topic in answer["topics"]
            for partition in topic["partitions"]
        }
        assert found == {
            (topic_id, 0): 0,
            (topic_id, 7): Code.UNKNOWN_TOPIC_OR_PARTITION,
            (b"?" * 16, 0): Code.UNKNOWN_TOPIC_ID,
            (b"?" * 16, 7): Code.UNKNOWN_TOPIC_ID,
        }
        assert client.fetch(0) == [5]


def test_leader_epoch_and_timestamp_are_stored() -> None:
    with committing() as client:
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": None}
        topics = [{"name": "t", "partitions": [{**partition, "committed_leader_epoch": 7}]}]
        client.begin_commit({}, topics=topics)
        now_ms = client.stage.clock.now_ms()
        assert (kept(client).leader_epoch, kept(client).metadata) == (7, "")
        assert (kept(client).commit_timestamp_ms, kept(client).expire_timestamp_ms) == (now_ms, NEVER)
        client.begin_commit({}, version=1, topics=[{"name": "t", "partitions": [{**partition, "commit_timestamp": 9}]}])
        assert (kept(client).leader_epoch, kept(client).commit_timestamp_ms) == (-1, 9)
        client.commit({0: 5}, version=4, retention_time_ms=1000)
        assert kept(client).expire_timestamp_ms == now_ms + 1000


def test_empty_request_returns_an_empty_response() -> None:
    with committing() as client:
        assert client.commit({}, topics=[]) == {}
        assert client.commit({}) == {}
        assert client.stage.cluster.group("g").state == "Dead"


def test_empty_group_id_is_valid() -> None:
    with committing() as client:
        nameless = Committing(client.stage, "")
        assert nameless.commit({0: 5}) == {("t", 0): 0}
        assert nameless.fetch(0) == [5]


@pytest.mark.parametrize(
    ("kafka_version", "version", "code"),
    [
        ("newest", 8, Code.ILLEGAL_GENERATION),
        ("newest", 9, Code.GROUP_ID_NOT_FOUND),
        ("3.9", 9, Code.ILLEGAL_GENERATION),
    ],
)
def test_commit_with_generation_for_an_unknown_group_is_refused(kafka_version: str, version: int, code: int) -> None:
    with committing(version=kafka_version) as client:
        said: Said = {"generation_id_or_member_epoch": 3, "member_id": "m"}
        assert client.commit({0: 5}, version=version, **said) == {("t", 0): code}
        assert client.stage.cluster.group("g").state == "Dead"


def test_only_members_may_commit_for_a_group_with_members() -> None:
    with committing() as client:
        members = Acting(client.stage)
        generation, [member_id] = members.stable()

        def commit(generation: int, member_id: str) -> int:
            said: Said = {"generation_id_or_member_epoch": generation, "member_id": member_id}
            return client.commit({0: 5}, **said)["t", 0]

        assert commit(generation, member_id) == Code.NONE
        assert commit(generation + 1, member_id) == Code.ILLEGAL_GENERATION
        assert commit(generation, "another") == Code.UNKNOWN_MEMBER_ID
        assert commit(-1, "") == Code.UNKNOWN_MEMBER_ID


def test_commit_extends_the_session_of_the_member() -> None:
    with committing() as client:
        members = Acting(client.stage)
        generation, [member_id] = members.stable()
        for _ in range(4):
            client.stage.clock.advance(milliseconds=6000)
            client.commit({0: 5}, generation_id_or_member_epoch=generation, member_id=member_id)
        assert members.state == "Stable"
        client.stage.clock.advance(milliseconds=11_000)
        assert members.state == "Empty"


def test_commit_to_another_broker_returns_not_coordinator() -> None:
    with committing(3) as client:
        topics = [
            {"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}]}
        ]
        answer = client.stage.ask(Api.OFFSET_COMMIT, 7, client.node % 3 + 1, group_id="g", topics=topics)
        assert errors_of(answer) == {("t", 0): Code.NOT_COORDINATOR}


def test_v0_is_refused_without_zookeeper() -> None:
    with committing(version="3.9") as client:
        assert client.commit({0: 5, 9: 5}, version=0) == {("t", 0): 35, ("t", 9): 35}
        assert client.commit({9: 5}, version=0) == {("t", 9): 3}
        assert client.fetch(0) == [-1]


def test_offsets_in_zookeeper_are_separate() -> None:
    with committing(version="2.8", config={"offset.metadata.max.bytes": "4"}) as client:
        assert client.commit({0: 5, 9: 5}, version=0, metadata="lost") == {("t", 9): 3, ("t", 0): 0}
        assert client.commit({1: 5}, version=0, metadata="too long") == {("t", 1): 12}
        assert client.fetch(0) == [-1]
        answer = client.begin_fetch(0, 1, version=0).answer()
        assert [(one["committed_offset"], one["error_code"]) for one in answer["topics"][0]["partitions"]] == [
            (5, 0),
            (-1, 3),
        ]


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("retention_ms", [(1 << 63) - 1, -(1 << 63), 1 << 62, -2])
def test_expiration_time_overflows_as_in_java(version: int, retention_ms: int) -> None:
    with committing() as client:
        assert client.commit({0: 5}, version=version, retention_time_ms=retention_ms) == {("t", 0): 0}
        now_ms = client.stage.clock.now_ms()
        assert kept(client).expire_timestamp_ms == wrapped(now_ms + retention_ms)


@pytest.mark.parametrize(("release", "state"), [("3.9", "Empty"), ("4.4", "Dead")])
def test_group_without_records_is_described_after_the_next_record_of_its_shard(release: str, state: str) -> None:
    with committing(version=release) as client:
        assert client.commit({0: 5}, metadata="m" * 5000) == {("t", 0): Code.OFFSET_METADATA_TOO_LARGE}
        assert described(client) == state
        client.shard.append([StateRecord(b"\0\2\0\1x", None)])
        assert described(client) == "Empty"


def described(client: Committing) -> str:
    """Return the state of the group in DescribeGroups, and check that ListGroups agrees whether it exists."""
    [group] = client.stage.ask(Api.DESCRIBE_GROUPS, 5, 1, groups=[client.group_id])["groups"]
    listed = [group["group_id"] for group in client.stage.ask(Api.LIST_GROUPS, 4, 1)["groups"]]
    assert listed == ([] if group["group_state"] == "Dead" else [client.group_id])
    state: str = group["group_state"]
    return state
