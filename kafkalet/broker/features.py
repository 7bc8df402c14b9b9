"""The features (KIP-584) of a broker, release by release: what it supports, and what its cluster runs at.

They are those of a fresh KRaft cluster at its release's defaults, as ApiVersions shows them: recorded from 3.9, 4.0,
4.3 and 4.4, pieced together from the release notes for the others (`metadata.version` counts the steps of
org.apache.kafka.server.common.MetadataVersion). Clusters with ZooKeeper, all up to 3.2 here, have none.
"""

from typing import NamedTuple

from .release import Release


class Feature(NamedTuple):
    """A feature: the levels a broker supports, and the one its cluster runs at (0: it is off)."""

    name: str
    lowest: int
    highest: int
    finalized: int


def _metadata(lowest: int, level: int) -> Feature:
    return Feature("metadata.version", lowest, level, level)


_GROUP = Feature("group.version", 0, 1, 1)
_KRAFT = Feature("kraft.version", 0, 1, 0)
_TRANSACTION = Feature("transaction.version", 0, 2, 2)
_STREAMS = Feature("streams.version", 0, 1, 1)
_ELIGIBLE_LEADERS = Feature("eligible.leader.replicas.version", 0, 1, 1)

_BY_RELEASE: dict[tuple[int, ...], tuple[Feature, ...]] = {
    (3, 3): (_metadata(1, 7),),
    (3, 4): (_metadata(1, 8),),
    (3, 5): (_metadata(1, 11),),
    (3, 6): (_metadata(1, 14),),
    (3, 7): (_metadata(1, 19),),
    (3, 8): (_metadata(1, 20),),
    (3, 9): (_KRAFT, _metadata(1, 21)),
    (4, 0): (_GROUP, _KRAFT, _metadata(7, 25), _TRANSACTION, _ELIGIBLE_LEADERS._replace(finalized=0)),
    (4, 1): (_GROUP, _KRAFT, _metadata(7, 27), Feature("share.version", 0, 1, 0), _TRANSACTION, _ELIGIBLE_LEADERS),
    (4, 2): (
        *(_GROUP, _KRAFT, _metadata(7, 29), Feature("share.version", 0, 1, 1)),
        *(_STREAMS, _TRANSACTION, _ELIGIBLE_LEADERS),
    ),
    (4, 3): (
        *(_GROUP, _KRAFT, _metadata(7, 30), Feature("share.version", 0, 1, 1)),
        *(_STREAMS, _TRANSACTION, _ELIGIBLE_LEADERS),
    ),
    (4, 4): (
        *(_GROUP, _KRAFT, _metadata(7, 33), Feature("share.version", 0, 2, 2)),
        *(_STREAMS, _TRANSACTION, _ELIGIBLE_LEADERS),
    ),
}

_FINALIZED_ORDER = (
    *("group.version", "streams.version", "transaction.version"),
    *("eligible.leader.replicas.version", "share.version", "metadata.version"),
)


def supported_features(release: Release) -> tuple[Feature, ...]:
    """What a broker of this release supports, in the order in which it lists it."""
    return _BY_RELEASE.get(release.version[:2], ())


def finalized_features(release: Release) -> list[Feature]:
    """What a new cluster of this release runs at, in the order in which a broker lists it."""
    running = {feature.name: feature for feature in supported_features(release) if feature.finalized}
    return [running[name] for name in _FINALIZED_ORDER if name in running]


def finalized_epoch(release: Release) -> int:
    """How current that is. With KRaft the offset in the metadata log where a new cluster stands, which varies a little;
    0 where the broker knows of features but its cluster has none; -1 where nobody knew of them.
    """
    if supported_features(release):
        return 14 if release.version >= (4, 0) else 8
    return 0 if release.version >= (2, 7) else -1
