"""`kafkalet.broker.config.release`: the names of releases and their rules."""

from itertools import pairwise

import pytest

from kafkalet.broker.config.release import RULES, Release, UnknownRelease
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.config import LogRules


@pytest.mark.parametrize("name", RELEASES)
def test_every_named_release_can_be_emulated(name: str) -> None:
    assert Release.of(name).name == name


def test_default_is_newest_and_behaves_like_the_last_release() -> None:
    assert Release.of() == Release.of(NEWEST)
    assert Release.of().version == Release.of(RELEASES[-2]).version


@pytest.mark.parametrize(("patch", "name"), [("3.9.2", "3.9"), ("0.8.2.2", "0.8.2"), ("0.10.2.1", "0.10.2")])
def test_patch_release_behaves_like_its_minor_release(patch: str, name: str) -> None:
    assert Release.of(patch) == Release.of(name)


@pytest.mark.parametrize("name", ["", "3", "3.10", "5.0", "3.9.x", "latest", "0.10"])
def test_unknown_release_is_refused_with_the_known_names(name: str) -> None:
    with pytest.raises(UnknownRelease, match=r"0\.8\.2, .*3\.9, .*newest"):
        Release.of(name)


@pytest.mark.parametrize("rule", RULES)
def test_rule_differs_between_releases(rule: str) -> None:
    said = [getattr(Release.of(name), rule) for name in RELEASES]
    changes = sum(before != after for before, after in pairwise(said))
    assert 0 < changes < 5, said


def test_rules_are_those_of_the_release() -> None:
    assert Release.of("3.9").returns_duplicate_partitions
    assert not Release.of("4.0").returns_duplicate_partitions
    assert not Release.of("2.0").refuses_old_offsets
    assert Release.of("3.3").refuses_old_offsets
    assert not Release.of("newest").refuses_old_offsets
    assert [Release.of(name).group_value_version for name in ("0.10.0", "0.10.1", "2.1", "2.2", "2.3", "4.4")] == [
        *(0, 1, 2, 2, 3, 3)
    ]


def test_rules_of_logs_are_those_of_the_release() -> None:
    assert Release.of("3.9").log_rules.lifts_unstable_to_log_start
    assert not Release.of("4.4").log_rules.lifts_unstable_to_log_start
    assert Release.of("2.8").log_rules.honors_message_format
    assert not Release.of("3.0").log_rules.honors_message_format


def test_default_values_of_log_rules_are_those_of_the_last_release() -> None:
    assert Release.of().log_rules == LogRules()
