"""`tools.recording.witnesses`: the errors in recorded responses."""

from kafkalet.protocol.errors import Code
from tools.recording.witnesses import Witnesses, codes_in, witnesses


def test_codes_are_found_at_any_depth() -> None:
    answer = {"error_code": 0, "topics": [{"partitions": [{"error_code": 3}]}], "acknowledge_error_code": 121}
    assert list(codes_in(answer)) == [Code.UNKNOWN_TOPIC_OR_PARTITION, Code.INVALID_RECORD_STATE]


def test_other_numbers_are_not_codes() -> None:
    assert list(codes_in({"partition_index": 3, "#error_code_of": "x", "error_code": "$?n"})) == []


def test_witness_has_each_version_once() -> None:
    found = Witnesses()
    for version in (1, 2, 1):
        found.add("s", ("3.9", "Fetch", version), {Code.OFFSET_OUT_OF_RANGE})
    assert found.errors == {("Fetch", Code.OFFSET_OUT_OF_RANGE): {"s": [1, 2]}}
    assert found.versions_of("3.9", "Fetch") == {1, 2}
    assert found.versions_of("4.4", "Fetch") == set()


def test_responses_to_requests_that_were_sent_before_are_witnesses() -> None:
    assert "group_leader_goes" in witnesses().versions["3.9", "JoinGroup", 3]


def test_error_codes_of_recordings_are_found() -> None:
    assert "groups_without_name" in witnesses().errors["OffsetDelete", Code.INVALID_GROUP_ID]
