"""Features of releases: levels that fit, off where the release leaves them off."""

import pytest

from kafkalet.broker.features import finalized_epoch, finalized_features, supported_features
from kafkalet.broker.release import RELEASES, Release


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_finalized_is_supported(name: str) -> None:
    release = Release.of(name)
    supported = supported_features(release)
    for feature in finalized_features(release):
        assert feature in supported
        assert feature.lowest <= feature.finalized <= feature.highest


def test_levels_of_the_metadata_never_go_down() -> None:
    levels = [
        feature.highest
        for name in RELEASES
        for feature in supported_features(Release.of(name))
        if feature.name == "metadata.version"
    ]
    assert levels == sorted(levels)


def test_what_is_off_is_not_finalized() -> None:
    finalized = {feature.name for feature in finalized_features(Release.of("4.0"))}
    assert finalized == {"group.version", "transaction.version", "metadata.version"}


@pytest.mark.parametrize(("name", "epoch"), [("2.6", -1), ("2.7", 0), ("3.2", 0), ("3.9", 8), ("4.4", 14)])
def test_the_epoch_says_whether_anybody_knew_of_features(name: str, epoch: int) -> None:
    assert finalized_epoch(Release.of(name)) == epoch
