"""Tests of `for_every`: a rule reports everything that violates it."""

import pytest

from .every import for_every


def test_violated_rule_reports_every_offender_and_no_other() -> None:
    @for_every([1, 2, 3])
    def is_even(number: int) -> None:
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)^2 of 3 violate the rule\n1: odd.*\n3: odd"):
        is_even()


def test_rule_that_raises_another_exception_reports_every_offender() -> None:
    @for_every([0, 1, 0])
    def divides(number: int) -> None:
        assert 1 // number

    offender = r"0: ZeroDivisionError\([^\n]* at [^\n]*test_every.py:\d+"
    with pytest.raises(AssertionError, match=f"^2 of 3 violate the rule\n{offender}\n{offender}"):
        divides()


def test_rule_without_things_to_check_is_rejected() -> None:
    with pytest.raises(AssertionError):
        for_every([])
