import pytest

from kafkalet.broker.regex.classes import DIGIT, Characters, none_beyond
from kafkalet.broker.regex.tree import (
    BEGIN,
    EMPTY,
    MOST_STATES,
    NEVER,
    Kind,
    Node,
    choice,
    repetition,
    sequence,
    set_of,
)

LONGEST = 20
X = set_of(Characters(DIGIT, none_beyond))
OPTIONAL_X = repetition(X, 0, 1, LONGEST)
BEGIN_OR_X = choice([BEGIN, X])


def bounds(node: Node) -> tuple[int, int | None]:
    assert node.kind is Kind.REPEAT
    return node.least, node.most


@pytest.mark.parametrize(
    ("part", "least", "most", "result"),
    [
        pytest.param(EMPTY, 1000, 1000, EMPTY, id="nothing"),
        pytest.param(NEVER, 0, 5, EMPTY, id="what never matches, or nothing"),
        pytest.param(NEVER, 1, 5, NEVER, id="what never matches, at least once"),
        pytest.param(X, 0, 0, EMPTY, id="no times"),
        pytest.param(X, 1, 1, X, id="once"),
        pytest.param(BEGIN, 1, 1000, BEGIN, id="a place"),
        pytest.param(X, 21, 21, NEVER, id="more than the longest text has"),
    ],
)
def test_repetition_is_simplified(part: Node, least: int, most: int, result: Node) -> None:
    assert repetition(part, least, most, LONGEST) is result


@pytest.mark.parametrize(
    ("part", "least", "most", "expected"),
    [
        pytest.param(X, 2, 20, (2, None), id="as often as the longest text allows"),
        pytest.param(X, 2, 19, (2, 19), id="less often"),
        pytest.param(sequence([X, X], LONGEST), 0, 10, (0, None), id="of two characters"),
        pytest.param(OPTIONAL_X, 1000, 1000, (0, None), id="of an optional part"),
        pytest.param(OPTIONAL_X, 5, 5, (0, 5), id="five times an optional part"),
        pytest.param(BEGIN_OR_X, 1000, None, (21, None), id="of what may take no character"),
        pytest.param(repetition(X, 1, 3, LONGEST), 1, 3, (1, 9), id="of a repetition"),
        pytest.param(repetition(X, 3, 3, LONGEST), 4, 4, (12, 12), id="as often as the inner one says"),
        pytest.param(repetition(X, 0, None, LONGEST), 3, 3, (0, None), id="of a star"),
    ],
)
def test_bounds_of_nested_repetitions_are_multiplied(
    part: Node, least: int, most: int | None, expected: tuple[int, int | None]
) -> None:
    assert bounds(repetition(part, least, most, LONGEST)) == expected


def test_a_repetition_with_gaps_stays_nested() -> None:
    """`(x{3}){1,2}` means three or six times, not four."""
    node = repetition(repetition(X, 3, 3, LONGEST), 1, 2, LONGEST)
    assert bounds(node) == (1, 2)
    assert node.parts[0].kind is Kind.REPEAT


def test_sequence_drops_empty_parts() -> None:
    assert sequence([EMPTY, X, EMPTY], LONGEST) is X
    assert sequence([EMPTY, EMPTY], LONGEST) is EMPTY


def test_a_sequence_longer_than_the_longest_text_never_matches() -> None:
    assert sequence([X] * 20, LONGEST).min_length == 20
    assert sequence([X] * 21, LONGEST) is NEVER


def test_choice_drops_parts_that_never_match_and_duplicates() -> None:
    assert choice([NEVER, X, X]) is X
    assert choice([NEVER, NEVER]) is NEVER


def test_states_are_counted_up_to_the_limit() -> None:
    node = sequence([X, BEGIN], 1_000_000)
    assert node.states == 2
    for _ in range(50):
        node = repetition(sequence([node, X], 10**9), 0, 900, 10**9)
    assert node.states == MOST_STATES + 1
