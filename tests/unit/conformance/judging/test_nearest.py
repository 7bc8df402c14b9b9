"""The recorded release that a broker resembles most."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.releases import advertised
from kafkalet_conformance.judging.nearest import ONLY_NAMED, distance, nearest, recorded_releases


def served(release: str) -> dict[int, tuple[int, int]]:
    return {int(api): (versions.low, versions.high) for api, versions in advertised(release).items()}


@pytest.mark.parametrize("release", [release for release in recorded_releases() if release not in ONLY_NAMED])
def test_recorded_release_is_nearest_to_itself(release: str) -> None:
    assert nearest(served(release)) == release
    assert distance(served(release), release) == (0, 0)


@pytest.mark.parametrize(("release", "near"), [("3.0", "2.8"), ("3.3", "3.4"), ("4.3", "4.2")])
def test_other_release_is_nearest_to_one_with_similar_versions(release: str, near: str) -> None:
    assert nearest(served(release)) == near


def test_broker_with_few_apis_is_nearest_to_the_release_with_their_highest_versions() -> None:
    assert nearest({Api.FETCH: (0, 17), Api.LIST_OFFSETS: (0, 9)}) == "3.9"
    assert nearest({Api.FETCH: (0, 18), Api.LIST_OFFSETS: (0, 11)}) == "4.4"


def test_lowest_versions_decide_between_equal_highest_versions() -> None:
    assert nearest({Api.CREATE_TOPICS: (0, 7)}) == "3.9"
    assert nearest({Api.CREATE_TOPICS: (2, 7)}) == "4.4"


def test_newest_of_equally_near_releases_is_chosen() -> None:
    assert nearest({}) == "4.4"


def test_api_that_the_release_lacks_counts_as_different() -> None:
    high, _ = distance({Api.CONSUMER_GROUP_HEARTBEAT: (0, 1)}, "2.8")
    assert high == 2
