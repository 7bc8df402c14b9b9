"""The comparison of two recordings of a scenario."""

from kafkalet_conformance.transcripts import Step, Transcript
from tools.recording.review import compare

S = Transcript("s", {}, {})


def case(name: str, expect: object, **request: object) -> Step:
    return {"op": "request", "case": name, "api": "Fetch", "expect": expect} | request


def test_equal_recordings_have_no_changes() -> None:
    steps = [case("a", {"error_code": 0, "id": "$t"}), {"op": "sleep", "ms": 5}]
    assert compare(S, steps, steps) == []


def test_changed_response_is_reported_with_its_fields() -> None:
    [change] = compare(S, [case("a", {"error_code": 0})], [case("a", {"error_code": 3})])
    assert str(change) == "s (Fetch) 'a': changed\n    error_code: expected 0, got 3"


def test_placeholder_that_became_a_value_is_a_change() -> None:
    [change] = compare(S, [case("a", {"offset": "$NOW"})], [case("a", {"offset": 1_700_000_000_000})])
    assert change.differences[0].expected == "= $NOW"


def test_two_different_placeholders_are_a_change() -> None:
    assert [change.kind for change in compare(S, [case("a", ["$TEXT"])], [case("a", ["$NODE"])])] == ["changed"]


def test_cases_of_only_one_recording_are_new_or_gone() -> None:
    found = compare(S, [case("v1", 1), case("v2", 1)], [case("v2", 1), case("v3", 1)])
    assert [(change.case, change.kind) for change in found] == [("v1", "gone"), ("v3", "new")]


def test_second_case_of_a_name_is_compared_with_the_second_one() -> None:
    found = compare(S, [case("a", 1), case("a", 2)], [case("a", 1), case("a", 3)])
    assert [change.case for change in found] == ["a (2)"]


def test_another_request_is_not_compared() -> None:
    [change] = compare(S, [case("a", 1, version=1)], [case("a", 2, version=2)])
    assert (change.kind, change.differences) == ("asked differently", ())


def test_comments_are_not_compared() -> None:
    assert compare(S, [case("a", {"#error": "X", "n": 1})], [case("a", {"#error": "Y", "n": 1})]) == []


def test_order_that_depends_on_a_hash_table_is_not_compared() -> None:
    topics = [{"name": "a"}, {"name": "b"}]
    old, new = [case("a", {"topics": topics})], [case("a", {"topics": topics[::-1]})]
    assert [change.kind for change in compare(S, old, new)] == ["changed"]
    assert compare(Transcript("s", {}, {}), [old[0] | {"api": "ListGroups"}], [new[0] | {"api": "ListGroups"}]) == []
