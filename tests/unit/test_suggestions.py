"""Tests of the suggestions for misspelled names."""

from kafkalet.suggestions import did_you_mean


def test_closest_name_is_suggested() -> None:
    assert did_you_mean("gpa", ["open", "gap"]) == "did you mean 'gap'?"


def test_case_does_not_matter() -> None:
    assert did_you_mean("fetch", ["Fetch", "Produce"], shown=str) == "did you mean Fetch?"


def test_several_names_are_suggested_on_request() -> None:
    assert did_you_mean("segment", ["segments", "segment_gap"], most=2) == "did you mean 'segments' or 'segment_gap'?"


def test_no_name_is_suggested_if_none_is_close() -> None:
    assert did_you_mean("x", ["Fetch", "Produce"]) == ""
