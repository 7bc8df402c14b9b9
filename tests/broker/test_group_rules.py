"""`kafkalet.broker.group_rules`: rules of releases that are about groups."""

import pytest

from kafkalet.broker.group_rules import GroupRules
from kafkalet.broker.release import RELEASES, Release

RULES = [name for name, rule in vars(GroupRules).items() if isinstance(rule, property)]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_changes_with_some_release_and_stays(rule: str) -> None:
    said = [getattr(Release.of(name), rule) for name in RELEASES]
    assert all(isinstance(one, bool) for one in said)
    changes = sum(before != after for before, after in zip(said, said[1:], strict=False))
    assert 0 < changes <= 2


def test_there_are_rules() -> None:
    assert len(RULES) > 5
