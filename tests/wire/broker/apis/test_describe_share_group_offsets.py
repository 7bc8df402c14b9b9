import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import batch
from tests.wire.rights import without_rights

from .sharing import jobs


def test_start_offsets_are_unknown_until_a_member_fetches() -> None:
    with jobs() as group:
        group.share()
        assert group.starts() == {0: -1, 1: -1}


def test_lag_counts_records_after_the_start_offset() -> None:
    with jobs() as group:
        group.alter({0: 1, 1: 0})
        group.wire.produce(batch(b"a", b"b", b"c"))
        [topic] = group.offsets()["topics"]
        assert [partition["lag"] for partition in topic["partitions"]] == [2, 0]


def test_lag_is_not_returned_before_version_1() -> None:
    with jobs() as group:
        group.alter({0: 1})
        [topic] = group.offsets(version=0)["topics"]
        assert "lag" not in topic["partitions"][0]


def test_unknown_topic_partition_and_group_have_no_offsets() -> None:
    with jobs() as group:
        for unknown in ({"topic_name": "none", "partitions": [0]}, {"topic_name": "t", "partitions": [2]}):
            [topic] = group.offsets(unknown)["topics"]
            assert [each["start_offset"] for each in topic["partitions"]] == [-1]
        [topic] = group.offsets({"topic_name": "t", "partitions": [0]}, group_id="other")["topics"]
        assert [each["start_offset"] for each in topic["partitions"]] == [-1]
        assert group.offsets(group_id="other")["topics"] == []


@pytest.mark.parametrize(("group_id", "partition"), [("", 0), ("jobs", -1)])
def test_request_that_the_persister_does_not_expect_fails(group_id: str, partition: int) -> None:
    with jobs() as group:
        answer = group.offsets({"topic_name": "t", "partitions": [partition]}, group_id=group_id)
        assert (answer["error_code"], answer["topics"]) == (Code.UNKNOWN_SERVER_ERROR, [])


def test_only_topics_that_the_client_may_describe_are_returned() -> None:
    with without_rights() as client:
        topics = [{"topic_name": name, "partitions": [{"partition_index": 0, "start_offset": 3}]} for name in "tu"]
        with client.all():
            client.ask("FindCoordinator", 3, key="jobs", key_type=0)
            client.ask("AlterShareGroupOffsets", 0, group_id="jobs", topics=topics)
        every = {"group_id": "jobs", "topics": None}
        [group] = client.ask("DescribeShareGroupOffsets", 1, groups=[every])["groups"]
        assert group["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        client.grant("describe group jobs", "describe topic t")
        [group] = client.ask("DescribeShareGroupOffsets", 1, groups=[every])["groups"]
        assert [topic["topic_name"] for topic in group["topics"]] == ["t"]
        some = {"group_id": "jobs", "topics": [{"topic_name": "u", "partitions": [0]}]}
        [group] = client.ask("DescribeShareGroupOffsets", 1, groups=[some])["groups"]
        [partition] = group["topics"][0]["partitions"]
        assert (partition["start_offset"], partition["error_code"]) == (-1, Code.TOPIC_AUTHORIZATION_FAILED)
