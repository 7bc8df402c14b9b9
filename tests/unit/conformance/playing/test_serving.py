"""Which steps a broker can perform, according to the versions that it advertises."""

from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.releases import advertised
from kafkalet_conformance.playing.serving import other_version, plan
from kafkalet_conformance.results import Outcome

OF_39 = {int(api): (versions.low, versions.high) for api, versions in advertised("3.9").items()}


def step(api: str, version: int, case: str = "", **fields: Any) -> dict[str, Any]:
    made = {"op": "request", "api": api, "version": version, "body": fields}
    return made | ({"case": case, "expect": {}} if case else {"setup": True})


CREATE = step("CreateTopics", 7, topics=[{"name": "$t"}])


def test_all_steps_run_on_a_broker_like_the_recorded_one() -> None:
    steps = [CREATE, step("Fetch", 17, "one", topics=[])]
    made = plan(steps, "3.9", OF_39)
    assert (made.steps, made.verdicts, made.skipped) == (steps, {}, set())


def test_case_in_an_unserved_version_is_skipped_and_says_so() -> None:
    made = plan([step("Fetch", 17, "one"), step("Fetch", 4, "two")], "3.9", OF_39 | {Api.FETCH: (0, 13)})
    assert made.skipped == {0}
    assert made.verdicts == {0: (Outcome.NOT_SERVED, "Fetch v17: the broker advertises versions 0 to 13")}


def test_case_of_an_unserved_api_names_the_api() -> None:
    served = {api: versions for api, versions in OF_39.items() if api != Api.DELETE_RECORDS}
    made = plan([step("DeleteRecords", 2, "one")], "3.9", served)
    assert made.verdicts[0] == (Outcome.NOT_SERVED, "DeleteRecords v2: the broker does not advertise DeleteRecords")


def test_preparation_uses_a_served_version_of_the_same_request() -> None:
    made = plan([CREATE], "3.9", OF_39 | {Api.CREATE_TOPICS: (0, 4)})
    assert made.steps[0]["version"] == 4
    assert not made.skipped


def test_preparation_keeps_a_version_that_has_the_values_to_bind() -> None:
    binding = CREATE | {"bind": {"t.id": "topics.0.topic_id"}}
    assert other_version(binding, {Api.CREATE_TOPICS: (0, 4)}) is None
    assert other_version(CREATE | {"bind": {"e": "topics.0.error_code"}}, {Api.CREATE_TOPICS: (0, 4)}) == 4


def test_request_with_a_field_that_a_version_lacks_is_not_sent_in_it() -> None:
    by_id = step("Fetch", 13, topics=[{"topic_id": "$t.id", "partitions": []}])
    assert other_version(by_id, {Api.FETCH: (4, 12)}) is None


def test_case_that_changes_something_is_performed_in_another_version_but_not_compared() -> None:
    produce = step("Produce", 11, "one", topics=[])
    made = plan([produce], "3.9", OF_39 | {Api.PRODUCE: (0, 9)})
    assert made.verdicts[0][0] is Outcome.NOT_SERVED
    assert (made.steps[0]["version"], "case" in made.steps[0], made.skipped) == (9, False, set())


def test_cases_that_need_the_response_of_a_skipped_one_are_skipped() -> None:
    first = step("Metadata", 12, "one", topics=[{"topic_id": "$t.id"}]) | {"bind": {"x": "topics.0.name"}}
    steps = [first, step("ListOffsets", 5, "two", topics=[{"name": "$x"}]), step("ListOffsets", 5, "three")]
    made = plan(steps, "3.9", OF_39 | {Api.METADATA: (0, 9)})
    assert made.skipped == {0, 1}
    assert made.verdicts[1] == made.verdicts[0]


def test_cases_after_a_change_that_cannot_be_made_are_skipped() -> None:
    served = {api: versions for api, versions in OF_39.items() if api != Api.DELETE_RECORDS}
    made = plan([step("DeleteRecords", 2, topics=[]), step("ListOffsets", 5, "one")], "3.9", served)
    assert made.verdicts[1][0] is Outcome.NOT_SERVED
    assert made.verdicts[1][1].startswith("DeleteRecords v2")


def test_version_that_the_release_refuses_is_sent_to_a_broker_that_refuses_it() -> None:
    steps = [step("Fetch", 18, "one")]
    assert not plan(steps, "3.9", OF_39).skipped


def test_version_that_the_release_refuses_is_not_compared_with_a_broker_that_serves_it() -> None:
    made = plan([step("Fetch", 18, "one")], "3.9", OF_39 | {Api.FETCH: (0, 18)})
    assert made.verdicts[0] == (Outcome.NOT_RUN, "Kafka 3.9 does not serve Fetch v18")


def test_raw_bytes_that_close_the_connection_are_always_sent() -> None:
    raw = {"op": "raw", "hex": "0004000000000005000163", "framed": True, "case": "one"}
    closes, answers = raw | {"expect": {"connection": "closed"}}, raw | {"expect": {"correlation_id": 5}}
    assert not plan([closes], "2.8", OF_39).verdicts
    assert plan([answers], "2.8", OF_39).verdicts[0][0] is Outcome.NOT_SERVED
