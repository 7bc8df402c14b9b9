"""Compares expressions with RE2/J 1.8: some 600 random expressions and their matches are recorded in vectors/."""

import json
import random
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.regex import automaton as regex_module
from kafkalet.broker.regex.automaton import LONGEST_TOPIC_NAME, BadRegex, compile_in_turns, compile_regex
from kafkalet.tasks.task import finish
from tests.effort import executed_lines

VECTORS = json.loads((Path(__file__).parent / "vectors" / "expressions.json").read_text())
REFUSED = [(expression, reason) for expression, _, reason in VECTORS if isinstance(reason, str)]
READ = [(expression, names, matched) for expression, names, matched in VECTORS if not isinstance(matched, str)]


def test_vectors_have_matches_and_mismatches() -> None:
    assert len(REFUSED) > 100
    assert len(READ) > 300


def test_names_match_as_in_re2j() -> None:
    for expression, names, matched in READ:
        assert list(map(compile_regex(expression), names)) == matched, expression


def test_invalid_expressions_are_refused_with_the_same_message() -> None:
    for expression, reason in REFUSED:
        with pytest.raises(BadRegex) as refusal:
            compile_regex(expression)
        assert str(refusal.value) == reason, expression


@pytest.mark.parametrize(
    "expression", [r"(a)\1", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?P=n)", "a++", "(?>a)", "(?#a)", r"\Z"]
)
def test_backreferences_and_lookaround_are_refused(expression: str) -> None:
    with pytest.raises(BadRegex):
        compile_regex(expression)


def test_whole_name_must_match() -> None:
    matches = compile_regex("orders|pay")
    assert matches("orders")
    assert not matches("orders-eu")
    assert not matches("pays")


def test_expression_with_exponential_backtracking_is_matched_in_linear_time() -> None:
    assert not compile_regex("(a+)+(a+)+(a|aa)*b")("a" * 249)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        pytest.param("a" * 240, "a" * 240, id="a long literal"),
        pytest.param("|".join(f"topic-{number}" for number in range(3000)), "topic-2999", id="3,000 alternatives"),
        pytest.param("(" * 900 + "a" + ")" * 900, "a", id="900 groups"),
        pytest.param("(" * 5000 + "a|b" + "*)" * 5000, "abba", id="5,000 groups that are repeated"),
        pytest.param("((a{1,30}){1,30}){1,30}", "a" * 200, id="repeated three times"),
        pytest.param("(([a-z]{1,30}.){1,30}-?){1,30}", "orders-eu", id="different parts repeated three times"),
        pytest.param("(a{0,1000}){1000}", "aaa", id="a million of an optional part"),
        pytest.param("((((){1000}){1000}){1000}){1000}", "", id="nothing, a million million times"),
        pytest.param("(?:^){1000}((?:^){1000}){1000}a", "a", id="a place, a million times"),
    ],
)
def test_large_expressions_are_compiled(expression: str, name: str) -> None:
    """Kafka accepts them, except for the last two, for which it runs out of memory."""
    matches = compile_regex(expression, LONGEST_TOPIC_NAME)
    assert matches(name)
    assert not matches("other than that !")


def test_expression_for_longer_texts_never_matches() -> None:
    matches = compile_regex("((a{1000}){1000}){1000}", LONGEST_TOPIC_NAME)
    assert not matches("a" * 249)


def test_expression_with_too_many_repetitions_is_refused() -> None:
    with pytest.raises(BadRegex, match="more than 60000 states, which is the limit"):
        compile_regex("((.{0,60}b){0,60}c){0,60}", LONGEST_TOPIC_NAME)


HARD_EXPRESSIONS = {
    "nothing repeated": "((((){1000}){1000}){1000}){1000}",
    "optional characters": "a?" * 1000,
    "many stars": ".*" * 1000,
    "empty alternatives": "|" * 2000,
    "places": r"(\b|a)*" * 500,
    "a class of many classes": "[" + r"\d" * 2000 + "]",
    "a class of many ranges": "[" + "à-ü" * 1000 + "]",
    "class names without an end": "[" + "[:" * 1000 + "]",
    "groups": "(" * 1000 + ")" * 1000,
    "braces": "{1," * 700,
    "categories": r"\pL" * 700,
}


@pytest.mark.parametrize("kind", HARD_EXPRESSIONS)
def test_most_work_depends_on_expression_and_text(kind: str) -> None:
    expression, name = HARD_EXPRESSIONS[kind], "ab" * 20

    def work() -> None:
        with suppress(BadRegex):
            compile_regex(expression, LONGEST_TOPIC_NAME)(name)

    assert executed_lines(work) <= 40 * len(expression) + 12 * len(expression) * len(name)


@pytest.mark.parametrize("kind", HARD_EXPRESSIONS)
def test_no_slice_of_work_is_long(kind: str) -> None:
    """A slice ends with the step that exceeds WORK_PER_SLICE, and a step visits at most all states."""
    regex = slices_within(compile_in_turns(HARD_EXPRESSIONS[kind], LONGEST_TOPIC_NAME), 90_000)
    if isinstance(regex, regex_module.Regex):
        slices_within(regex.select(["ab" * 20]), 90_000)


def slices_within(work: Coroutine[Any, Any, object], most_lines: int) -> object:
    """Return the value of `work`, no slice of which may execute more lines; None if the expression is refused."""
    value = None
    is_done = False

    def run_slice() -> None:
        nonlocal value, is_done
        try:
            work.send(None)
        except StopIteration as end:
            value, is_done = end.value, True
        except BadRegex:
            is_done = True

    while not is_done:
        assert executed_lines(run_slice) <= most_lines
    return value


def test_many_names_are_matched_in_slices() -> None:
    regex = finish(compile_in_turns("(a|b)*a(a|b){100}", LONGEST_TOPIC_NAME))
    names = ["".join(random.Random(number).choices("ab", k=200)) for number in range(20)]
    work = regex.select(names)
    slices = 0
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            found = end.value
            break
        slices += 1
    assert slices > 5
    assert found == [name for name in names if name[-101] == "a"]


def test_cached_states_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_module, "MOST_STATES_KEPT", 500)
    matches = compile_regex("(a|b)*a(a|b){12}", LONGEST_TOPIC_NAME)
    for number in range(200):
        name = "".join(random.Random(number).choices("ab", k=40))
        assert matches(name) == (name[-13] == "a")


@pytest.mark.parametrize(
    ("expression", "name", "is_match"),
    [
        (".*", "größe", True),
        ("gr[^a]ße", "größe", True),
        (r"gr\W.*", "größe", True),
        (r"\pL+", "größe", True),
        (r"\p{Greek}", "\u03b1", True),
        (r"\p{Greek}", "a", False),
        ("(?i)GRÖ.e", "größe", True),
        ("(?i)k", "\u212a", True),
        ("[à-ü]", "ö", True),
        ("[^à-ü]", "ö", False),
        (r"(?i)\W", "\u017f", False),
    ],
)
def test_characters_beyond_ascii_match_as_in_re2j(expression: str, name: str, is_match: bool) -> None:
    assert compile_regex(expression)(name) is is_match


def test_a_text_longer_than_the_longest_does_not_match() -> None:
    assert not compile_regex("a*", 10)("a" * 11)
