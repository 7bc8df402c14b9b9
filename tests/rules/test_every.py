"""A rule names everything that breaks it."""

import pytest

from .every import for_every


def test_a_broken_rule_names_every_offender_and_no_other() -> None:
    @for_every([1, 2, 3])
    def is_even(number: int) -> None:
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)^2 of 3 break the rule\n1: odd.*\n3: odd"):
        is_even()


def test_a_rule_about_nothing_is_refused() -> None:
    with pytest.raises(AssertionError):
        for_every([])
