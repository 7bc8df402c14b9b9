from kafkalet.protocol.errors import Code
from tests.wire.rights import without_rights

from .sharing import jobs


def test_offsets_of_a_topic_are_deleted() -> None:
    with jobs() as group:
        group.alter({0: 5, 1: 7})
        [topic] = group.delete("t")["responses"]
        assert topic["error_code"] == Code.NONE
        assert group.offsets()["topics"] == []


def test_member_begins_again_after_the_deletion() -> None:
    with jobs() as group:
        group.alter({0: 5, 1: 7})
        group.delete("t")
        group.beat(0, "t")
        assert group.starts() == {0: -1, 1: -1}


def test_topics_without_offsets_have_errors() -> None:
    with jobs() as group:
        group.alter({0: 5})
        group.delete("t")
        responses = {topic["topic_name"]: topic for topic in group.delete("t", "none")["responses"]}
        assert responses["t"]["error_message"] == "There is no offset information to delete."
        assert responses["none"]["error_message"] == "This server does not host this topic-partition."
        assert {topic["error_code"] for topic in responses.values()} == {Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_group_with_members_keeps_its_offsets() -> None:
    with jobs() as group:
        group.share()
        assert group.delete("t")["error_code"] == Code.NON_EMPTY_GROUP


def test_missing_group_is_reported() -> None:
    with jobs() as group:
        answer = group.delete("t")
        assert (answer["error_code"], answer["error_message"]) == (Code.GROUP_ID_NOT_FOUND, "Group jobs not found.")
        assert group.delete("t", group_id="")["error_code"] == Code.INVALID_GROUP_ID


def test_client_needs_rights_to_delete_the_group_and_read_the_topic() -> None:
    with without_rights() as client:
        topics = [{"topic_name": "t", "partitions": [{"partition_index": 0, "start_offset": 3}]}]
        with client.all():
            client.ask("FindCoordinator", 3, key="jobs", key_type=0)
            client.ask("AlterShareGroupOffsets", 0, group_id="jobs", topics=topics)
        body = {"group_id": "jobs", "topics": [{"topic_name": "t"}]}
        assert client.ask("DeleteShareGroupOffsets", 0, **body)["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        client.grant("delete group jobs")
        answer = client.ask("DeleteShareGroupOffsets", 0, **body)
        assert answer["responses"][0]["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
        client.grant("read topic t")
        assert client.ask("DeleteShareGroupOffsets", 0, **body)["responses"][0]["error_code"] == Code.NONE
