"""Expressions as RE2/J 1.8 read them and matched names with them: some 600 made by chance, recorded in vectors/."""

import json
from pathlib import Path

import pytest

from kafkalet.broker.groups.regex import BadRegex, compile_regex

VECTORS = json.loads((Path(__file__).parent / "vectors" / "expressions.json").read_text())
REFUSED = [(expression, reason) for expression, _, reason in VECTORS if isinstance(reason, str)]
READ = [(expression, names, matched) for expression, names, matched in VECTORS if not isinstance(matched, str)]


def test_there_are_enough_of_both_kinds() -> None:
    assert len(REFUSED) > 100
    assert len(READ) > 300


def test_names_match_as_they_did() -> None:
    for expression, names, matched in READ:
        assert list(map(compile_regex(expression), names)) == matched, expression


def test_what_was_refused_is_refused_in_the_same_words() -> None:
    for expression, reason in REFUSED:
        with pytest.raises(BadRegex) as refusal:
            compile_regex(expression)
        assert str(refusal.value) == reason, expression


@pytest.mark.parametrize(
    "expression", [r"(a)\1", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?P=n)", "a++", "(?>a)", "(?#a)", r"\Z"]
)
def test_what_only_engines_that_go_back_can_do_is_refused(expression: str) -> None:
    with pytest.raises(BadRegex):
        compile_regex(expression)


def test_a_match_is_one_of_the_whole_name() -> None:
    matches = compile_regex("orders|pay")
    assert matches("orders")
    assert not matches("orders-eu")
    assert not matches("pays")


def test_an_expression_that_makes_others_try_for_ever_does_not() -> None:
    assert not compile_regex("(a+)+(a+)+(a|aa)*b")("a" * 249)


def test_an_expression_that_would_grow_without_end_is_refused() -> None:
    with pytest.raises(BadRegex, match="invalid repeat count"):
        compile_regex("((a{1000}){1000}){1000}")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadRegex):
        compile_regex("(" * 100_000 + ")" * 100_000)


def test_as_deep_as_allowed_is_read() -> None:
    assert compile_regex("(" * 200 + "a|b" + "*)" * 200)("abba")


def test_names_that_topics_cannot_have_never_match() -> None:
    assert not compile_regex(".*")("größe")
