"""A rule names everything that breaks it."""

import pytest

from .every import for_every


def test_a_broken_rule_names_every_offender_and_no_other() -> None:
    @for_every([1, 2, 3])
    def is_even(number: int) -> None:
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)^2 of 3 break the rule\n1: odd.*\n3: odd"):
        is_even()


def test_rule_that_fails_with_another_exception_names_every_offender() -> None:
    @for_every([0, 1, 0])
    def divides(number: int) -> None:
        assert 1 // number

    offender = r"0: ZeroDivisionError\([^\n]* at [^\n]*test_every.py:\d+"
    with pytest.raises(AssertionError, match=f"^2 of 3 break the rule\n{offender}\n{offender}"):
        divides()


def test_a_rule_about_nothing_is_refused() -> None:
    with pytest.raises(AssertionError):
        for_every([])
