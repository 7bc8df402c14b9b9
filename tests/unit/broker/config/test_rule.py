"""`kafkalet.broker.config.rule`: how rules of releases are declared."""

from typing import cast

from kafkalet.broker.config.rule import KRAFT, Rule, between, changing, since, until, with_zookeeper, without_zookeeper


def values(declared: object, *versions: tuple[int, ...]) -> list[object]:
    return [cast(Rule, declared).value_in(version) for version in versions]


def test_rule_since_a_release_holds_in_it() -> None:
    assert values(since(4, 0, ""), (0, 8, 2), (3, 9), (4, 0), (4, 1)) == [False, False, True, True]


def test_rule_until_a_release_does_not_hold_in_it() -> None:
    assert values(until(4, 0, ""), (0, 8, 2), (3, 9), (4, 0), (4, 1)) == [True, True, False, False]


def test_rule_between_releases_holds_in_the_first_one() -> None:
    assert values(between((3, 3), (4, 0), ""), (3, 2), (3, 3), (3, 9), (4, 0)) == [False, True, True, False]


def test_rules_of_zookeeper_end_where_those_of_kraft_begin() -> None:
    assert values(with_zookeeper(""), (3, 2), KRAFT) == [True, False]
    assert values(without_zookeeper(""), (3, 2), KRAFT) == [False, True]


def test_changing_rule_has_the_value_of_the_last_change() -> None:
    assert values(changing("", {(0,): 0, (0, 10, 1): 1, (2, 1): 2}), (0, 10, 0), (0, 10, 1), (2, 0), (3, 0)) == [
        *(0, 1, 1, 2)
    ]
