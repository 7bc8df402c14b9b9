from kafkalet.protocol.errors import Code
from tests.wire.rights import without_rights

from .sharing import jobs


def test_start_offsets_of_an_empty_group_are_set() -> None:
    with jobs() as group:
        group.share()
        group.leave()
        [topic] = group.alter({0: 5, 1: 7})["responses"]
        assert [partition["error_code"] for partition in topic["partitions"]] == [0, 0]
        assert group.starts() == {0: 5, 1: 7}


def test_missing_group_is_created() -> None:
    with jobs() as group:
        group.alter({0: 5})
        [described] = group.describe()
        assert (described["group_state"], described["group_epoch"]) == ("Empty", 1)


def test_group_with_members_keeps_its_offsets() -> None:
    with jobs() as group:
        group.share()
        answer = group.alter({0: 5})
        assert (answer["error_code"], answer["error_message"]) == (Code.NON_EMPTY_GROUP, "The group is not empty.")
        assert group.starts() == {0: -1, 1: -1}


def test_unknown_partitions_have_errors_and_the_others_change() -> None:
    with jobs() as group:
        [topic] = group.alter({0: 5, 9: 1})["responses"]
        codes = {partition["partition_index"]: partition["error_code"] for partition in topic["partitions"]}
        assert codes == {0: Code.NONE, 9: Code.UNKNOWN_TOPIC_OR_PARTITION}
        [topic] = group.alter({0: 6}, topic="none")["responses"]
        assert topic["partitions"][0]["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert group.starts() == {0: 5}


def test_negative_partition_fails_the_request() -> None:
    with jobs() as group:
        answer = group.alter({-1: 0})
        assert answer["error_code"] == Code.UNKNOWN_SERVER_ERROR
        assert answer["error_message"].startswith("Initialize share group parameters has invalid partitionId - jobs ")


def test_empty_group_id_is_invalid() -> None:
    with jobs() as group:
        answer = group.alter({0: 5}, group_id="")
        assert (answer["error_code"], answer["error_message"]) == (Code.INVALID_GROUP_ID, "The group id is invalid.")


def test_client_needs_rights_to_read_group_and_topic() -> None:
    with without_rights() as client:
        topics = [{"topic_name": "t", "partitions": [{"partition_index": 0, "start_offset": 3}]}]
        answer = client.ask("AlterShareGroupOffsets", 0, group_id="jobs", topics=topics)
        assert (answer["error_code"], answer["responses"]) == (Code.GROUP_AUTHORIZATION_FAILED, [])
        client.grant("read group jobs", "describe group jobs")
        client.ask("FindCoordinator", 3, key="jobs", key_type=0)
        answer = client.ask("AlterShareGroupOffsets", 0, group_id="jobs", topics=topics)
        assert answer["responses"][0]["partitions"][0]["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
