"""The features of each Kafka release (KIP-584): the levels that brokers support, and the cluster's current level.

A new cluster has the default levels of its release; UpdateFeatures changes them. Only changed levels are stored. If a
data directory is opened with another release, the unchanged features have the levels of that release.

The levels of a release are those that ApiVersions returns for a new KRaft cluster with default settings. They were
recorded from 3.9, 4.0, 4.3 and 4.4; for other releases, they were taken from the release notes (the levels of
`metadata.version` are those of org.apache.kafka.server.common.MetadataVersion). Releases up to 3.2 run with ZooKeeper
and have no features.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError

from .metadata import MetadataImage


class Feature(NamedTuple):
    """A feature, with the range of supported levels and a new cluster's default level (0 if disabled)."""

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
CORDONED_SINCE = 30
"""The level of metadata.version with cordoned log directories, 4.3-IV0 (KIP-1066)."""
ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
_ELIGIBLE_LEADERS = Feature(ELIGIBLE_LEADERS, 0, 1, 1)

_BY_RELEASE: dict[tuple[int, ...], tuple[Feature, ...]] = {
    (3, 3): (_metadata(1, 7),),
    (3, 4): (_metadata(1, 8),),
    (3, 5): (_metadata(1, 11),),
    (3, 6): (_metadata(1, 14),),
    (3, 7): (_metadata(1, 19),),
    (3, 8): (_metadata(1, 20),),
    (3, 9): (_KRAFT, _metadata(1, 21)),
    (4, 0): (_GROUP, _KRAFT, _metadata(7, 25), _TRANSACTION, _ELIGIBLE_LEADERS._replace(finalized=0)),
    (4, 1): (
        *(_GROUP, _KRAFT, _metadata(7, 27), Feature("share.version", 0, 1, 0)),
        *(_STREAMS._replace(highest=0, finalized=0), _TRANSACTION, _ELIGIBLE_LEADERS),
    ),
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

_FEW_IN_ORDER = (
    *("group.version", "streams.version", "transaction.version"),
    *("eligible.leader.replicas.version", "kraft.version", "share.version", "metadata.version"),
)
_MANY_IN_ORDER = (
    *("group.version", "kraft.version", "share.version", "metadata.version"),
    *("streams.version", "transaction.version", "eligible.leader.replicas.version"),
)
"""The features in the iteration order of a Java HashMap: with up to six features, and with more than six."""

_METADATA_CHANGED = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, *range(23, 34)})
"""The levels of metadata.version that changed the metadata itself. A downgrade below such a level is refused."""
_LEAST_METADATA = 4
"""The lowest level of metadata.version that supports features (3.3-IV0)."""


_SINCE_METADATA = {
    "group.version": (22,),
    "transaction.version": (24, 24),
    ELIGIBLE_LEADERS: (26,),
    "share.version": (28, 31),
    "streams.version": (29,),
}
"""The levels of metadata.version from which on a new cluster has the levels 1 and 2 of another feature by default."""


class UpgradeType(IntEnum):
    """The upgrade type of a change. Before version 1 of UpdateFeatures, every change is an UPGRADE."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@cache
def _by_name(version: tuple[int, ...]) -> dict[str, Feature]:
    return {feature.name: feature for feature in _BY_RELEASE.get(version, ())}


def every_level(enabled: Mapping[str, int]) -> dict[str, int]:
    """Return the level of every feature in a cluster in which only these features are enabled."""
    known = {feature.name for features in _BY_RELEASE.values() for feature in features}
    return {**dict.fromkeys(sorted(known), 0), **enabled}


def levels_of_new_cluster(release: Release, given: Mapping[str, int]) -> dict[str, int]:
    """Return the levels of a cluster that is formatted with the levels in `given`.

    The defaults of the others depend on metadata.version (org.apache.kafka.metadata.storage.Formatter). Raises
    ValueError.
    """
    supported = _by_name(release.version[:2])
    for name, level in given.items():
        if name not in supported:
            raise ValueError(f"Kafka {release.name} has no feature {name}; it has {', '.join(supported) or 'none'}")
        if not supported[name].lowest <= arguments.number(f"the level of {name}", level) <= supported[name].highest:
            of = supported[name]
            raise ValueError(f"{name}={level}: Kafka {release.name} supports the levels {of.lowest} to {of.highest}")
    metadata_version = given.get("metadata.version")
    if metadata_version is None:
        return dict(given)
    defaults = {
        name: min(supported[name].finalized, sum(metadata_version >= least for least in since))
        for name, since in _SINCE_METADATA.items()
        if name in supported
    }
    return {**defaults, **given}


class Features:
    """The feature levels of a cluster. `metadata` stores changed levels."""

    def __init__(self, release: Release, metadata: MetadataImage) -> None:
        self.release = release
        self.metadata = metadata
        self.supported = _by_name(release.version[:2])

    def level(self, name: str) -> int:
        """Return the level of a feature, or 0 if it is disabled or unknown."""
        feature = self.supported.get(name)
        if feature is None:
            return 0
        changed = self.metadata.feature_levels.get(name, feature.finalized)
        return max(feature.lowest, min(changed, feature.highest))  # the level may have been set in another release

    def finalized(self) -> list[tuple[str, int]]:
        """Return the enabled features with their levels, in the order in which Kafka returns them."""
        running = {name: level for name in self.supported if (level := self.level(name))}
        order = _FEW_IN_ORDER if len(running) <= 6 else _MANY_IN_ORDER
        return [(name, running[name]) for name in order if name in running]

    @property
    def epoch(self) -> int:
        """The epoch of the finalized features.

        With KRaft, this is a typical metadata log offset of a new cluster, plus one for each change. It is 0 for
        releases that support features but run with ZooKeeper, and -1 for older releases.
        """
        return self.release.first_epoch_of_features + (self.metadata.feature_changes if self.supported else 0)

    def check(self, name: str, level: int, upgrade_type: int, node_id: int) -> None:
        """Raise KafkaError (INVALID_UPDATE_VERSION) if the feature must not be changed to this level.

        `node_id` is the id of the controller, for the error message.
        """
        reason = self._problem(name, level, upgrade_type, node_id)
        if reason is not None:
            message = f"Invalid update version {level} for feature {name}. {reason}"
            raise KafkaError(Code.INVALID_UPDATE_VERSION, message)

    def _problem(self, name: str, level: int, upgrade_type: int, node_id: int) -> str | None:
        """Return the reason why a change is refused, or None (FeatureControlManager.updateFeature)."""
        if upgrade_type not in list(UpgradeType):
            return "The controller does not support the given upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        feature = self.supported.get(name)
        if feature is None:
            if level == 0 and self.release.disables_unknown_features:
                return None
            if level == 0 and self.release.changes_features_together:
                return f"Feature {name} not found."
            return f"Local controller {node_id} does not support this feature."
        if not feature.lowest <= level <= feature.highest and (level or self.release.changes_features_together):
            return f"Local controller {node_id} only supports versions {feature.lowest}-{feature.highest}"
        now = self.level(name)
        if level > now and upgrade_type != UpgradeType.UPGRADE:
            return "Can't downgrade to a newer version."
        if level < now and upgrade_type == UpgradeType.UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                "unsafe downgrade."
            )
        return self._no_way_back(name, now, level) if level < now else None

    def _no_way_back(self, name: str, now: int, level: int) -> str | None:
        if name == "kraft.version" and self.release.changes_features_together:
            return "Can't downgrade the version of this feature."
        if name == "metadata.version":
            if level < _LEAST_METADATA:
                return "Unable to set a metadata.version less than 3.3-IV0"
            if not _METADATA_CHANGED.isdisjoint(range(level + 1, now + 1)):
                return "Refusing to perform the requested downgrade because it might delete metadata information."
        return None

    def change(self, name: str, level: int) -> None:
        """Set a level that has passed `check`."""
        if name in self.supported:
            self.metadata.feature_levels[name] = level
        self.metadata.feature_changes += 1
        self.metadata.revision.advance()
