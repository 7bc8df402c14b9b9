"""Java's regular expressions and replacements."""

import re

import pytest

from kafkalet.broker.security.java_patterns import expand_replacement


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [("$1-$2", "a-b"), ("$12", "a2"), ("${x}", "a"), (r"\$1\\", "$1\\"), ("$0", "ab")],
)
def test_replacement_has_the_groups_of_the_match(replacement: str, expected: str) -> None:
    match = re.fullmatch("(?P<x>a)(b)", "ab")
    assert match is not None
    assert expand_replacement(match, replacement) == expected
