"""Choose the recorded release that a broker resembles most, by the versions that both advertise."""

from collections.abc import Iterable, Mapping

from kafkalet.protocol.releases import advertised
from kafkalet_conformance.catalog import scenarios
from kafkalet_conformance.notation.messages import APIS

ONLY_NAMED = frozenset({"3.3", "4.3"})
"""Releases that are used only if they are named.

Release 3.3 advertises the same versions as 3.4. Of 4.3, only the areas are recorded in which it may differ from its
neighbors.
"""


def recorded_releases() -> list[str]:
    """Return the releases that have recorded responses, the oldest first."""
    releases = {release for each in scenarios().values() for release in each.releases}
    return sorted(releases, key=lambda release: [int(number) for number in release.split(".")])


def nearest(served: Mapping[int, tuple[int, int]], releases: Iterable[str] = ()) -> str:
    """Return the recorded release with the smallest distance; of releases with the same distance, the newest.

    By default, those of ONLY_NAMED are left out.
    """
    known = [*releases] or [release for release in recorded_releases() if release not in ONLY_NAMED]
    return min(reversed(known), key=lambda release: distance(served, release))


def distance(served: Mapping[int, tuple[int, int]], release: str) -> tuple[int, int]:
    """Return how much the advertised versions differ from those of a release: the highest ones, then the lowest ones.

    Both are sums, over the APIs of recorded scenarios that the broker advertises, of the differences between versions.
    An API that the release does not advertise counts as if its versions ended at -1. APIs that only the release
    advertises are ignored, so that a broker with few APIs is close to the release that it resembles in those APIs.
    """
    known = advertised(release)
    relevant = {APIS[api] for each in scenarios().values() for api in each.apis}
    high = low = 0
    for api in relevant & served.keys():
        theirs, own = served[api], known.get(api, (0, -1))
        high += abs(theirs[1] - own[1])
        low += abs(theirs[0] - own[0])
    return high, low
