"""Values and responses as readable lines."""

import pytest

from kafkalet_conformance.playing.matching import MISSING, Matcher
from kafkalet_conformance.reports.values import (
    Row,
    as_compared,
    hex_dump,
    line,
    printable,
    rows,
    rows_of,
    sides,
    tree,
)
from kafkalet_conformance.results import CaseResult, Difference, Outcome

from .runs import case, differing


@pytest.mark.parametrize(
    ("value", "field", "text"),
    [
        (3, "error_code", "3 UNKNOWN_TOPIC_OR_PARTITION"),
        (-1, "error_code", "-1 UNKNOWN_SERVER_ERROR"),
        (999, "error_code", "999 (unknown error)"),
        (3, "offset", "3"),
        (True, "error_code", "true"),
        (None, "", "null"),
        (2**63 - 1, "", "9223372036854775807"),
        (float("nan"), "", "nan"),
        ("a\x1b[31mb", "", '"a\\x1b[31mb"'),
        ({"a": 1, "#comment": 2, "error_code": 0}, "", "{a: 1, error_code: 0 NONE}"),
        ([1, "x"], "", '[1, "x"]'),
        (list(range(100)), "", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (100 in all)]"),
        (MISSING, "", "(nothing)"),
        (b"\xff", "", "b'\\xff'"),
    ],
)
def test_value_is_one_line(value: object, field: str, text: str) -> None:
    assert line(value, field) == text


def test_long_text_is_shortened_with_its_length() -> None:
    text = line("x" * 10_000_000)
    assert len(text) <= 300
    assert text.startswith('"xxx')
    assert "characters)" in text


def test_text_without_printable_characters_is_escaped() -> None:
    assert printable("a\n\ud800\u202e") == "a\\n\\ud800\\u202e"


def test_sides_of_a_difference_have_names_of_errors() -> None:
    assert sides(Difference("topics[0].error_code", 3, 0)) == ("3 UNKNOWN_TOPIC_OR_PARTITION", "0 NONE")


def test_tree_has_a_field_on_each_line() -> None:
    answer = {"topics": [{"name": "t", "isr": [1, 2], "empty": []}], "error_code": 0}
    assert tree(answer) == [
        "topics:",
        "  [0]:",
        '    name: "t"',
        "    isr: [1, 2]",
        "    empty: []",
        "error_code: 0 NONE",
    ]


def test_only_differing_lines_are_marked() -> None:
    found = [row for row in rows_of(differing()) if row.differs]
    assert found == [Row(4, "error_code: 3 UNKNOWN_TOPIC_OR_PARTITION", "error_code: 0 NONE", True)]


def test_missing_part_has_no_line_on_its_side() -> None:
    found = rows({"a": {"b": 1, "c": 2}}, {}, {"a"})
    assert found == [Row(0, "a:", None, True), Row(1, "b: 1", None, True), Row(1, "c: 2", None, True)]


def test_response_of_another_type_is_shown_on_both_sides() -> None:
    assert rows({"a": [1]}, {"a": None}, {"a"}) == [Row(0, "a: [1]", "a: null", True)]
    assert rows([1], None, {""}) == [Row(0, "[1]", "null", True)]


def test_paths_refer_to_sorted_arrays_if_the_order_was_not_compared() -> None:
    expected = {"topics": [{"name": "b", "error_code": 0}, {"name": "a", "error_code": 3}]}
    actual = {"throttle_time_ms": 5, "topics": [{"name": "a", "error_code": 0}, {"name": "b", "error_code": 0}]}
    differences = Matcher({}).differences(expected, actual, in_order=False)
    made = case("x", Outcome.DIFFERS, *differences, expected=expected, actual=actual)
    assert [row.expected for row in rows_of(made) if row.differs] == ["error_code: 3 UNKNOWN_TOPIC_OR_PARTITION"]
    assert as_compared(made)[0]["topics"][0]["name"] == "a"


def test_response_that_cannot_be_sorted_is_shown_unchanged() -> None:
    made = case("x", Outcome.DIFFERS, Difference("nowhere[3].x", 1, 2), expected=[1, "a"], actual=[None, {}])
    assert as_compared(made) == ([1, "a"], [None, {}])


def test_case_without_response_shows_what_was_expected() -> None:
    made = CaseResult("x", "Fetch", 4, Outcome.FAILED, "closed", expected={"a": 1})
    assert rows_of(made) == [Row(0, "a: 1", None, True)]


def test_names_of_fields_may_contain_dots_and_brackets() -> None:
    expected, actual = {"a.b": {"[x": 1}, "c": 2}, {"a.b": {"[x": 2}, "c": 2}
    differences = Matcher({}).differences(expected, actual)
    made = case("x", Outcome.DIFFERS, *differences, expected=expected, actual=actual)
    assert [row.actual for row in rows_of(made) if row.differs] == ["[x: 2"]


def test_hex_dump_has_offsets_bytes_and_text() -> None:
    first, second = hex_dump(b"\x00\x01Kafka\xff" + bytes(10))
    assert first == "00000000  00 01 4b 61 66 6b 61 ff  00 00 00 00 00 00 00 00  ..Kafka........."
    assert second.startswith("00000010  00 00")
    assert hex_dump(bytes(100), limit=32)[-1] == "... (100 bytes)"
