"""`kafkalet.broker.config.group_rules`: the rules of releases that concern groups."""

import itertools

import pytest

from kafkalet.broker.config.group_rules import GroupRules
from kafkalet.broker.config.release import Release
from kafkalet.protocol.releases import RELEASES

RULES = [name for name, rule in vars(GroupRules).items() if isinstance(rule, property)]


@pytest.mark.parametrize("rule", RULES)
def test_rule_differs_between_releases(rule: str) -> None:
    said = [getattr(Release.of(name), rule) for name in RELEASES]
    changes = sum(before != after for before, after in itertools.pairwise(said))
    assert 0 < changes < 5, said


@pytest.mark.parametrize("rule", RULES)
def test_newest_behaves_like_the_last_release(rule: str) -> None:
    assert getattr(Release.of(), rule) == getattr(Release.of(RELEASES[-2]), rule)


def test_there_are_rules() -> None:
    assert len(RULES) > 5
