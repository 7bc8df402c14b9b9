"""`kafkalet.broker.cluster.features`: the features of releases and changes of their levels."""

import pytest

from kafkalet.broker.cluster.features import ELIGIBLE_LEADERS, Features, UpgradeType, levels_of_new_cluster
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.releases import RELEASES

TRANSACTION = "transaction.version"


def features_of(release: str, metadata: MetadataImage | None = None) -> Features:
    return Features(Release.of(release), metadata or MetadataImage(""))


def test_finalized_levels_are_supported() -> None:
    finalized = set()
    for name in RELEASES:
        features = features_of(name)
        for feature, level in features.finalized():
            finalized.add(feature)
            assert features.supported[feature].lowest <= level <= features.supported[feature].highest
    assert {"metadata.version", "group.version", TRANSACTION} <= finalized


def test_metadata_version_never_decreases_between_releases() -> None:
    levels = [
        supported["metadata.version"].highest
        for supported in (features_of(name).supported for name in RELEASES)
        if "metadata.version" in supported
    ]
    assert levels
    assert levels == sorted(levels)


@pytest.mark.parametrize(
    ("release", "level", "enabled"),
    [
        ("4.4", 21, {}),
        ("4.4", 23, {"group.version": 1}),
        ("4.4", 25, {"group.version": 1, TRANSACTION: 2}),
        (
            "4.4",
            30,
            {"group.version": 1, TRANSACTION: 2, ELIGIBLE_LEADERS: 1, "share.version": 1, "streams.version": 1},
        ),
        ("4.1", 27, {"group.version": 1, TRANSACTION: 2, ELIGIBLE_LEADERS: 1}),
        ("3.9", 14, {}),
    ],
)
def test_levels_of_new_cluster_depend_on_its_metadata_version(
    release: str, level: int, enabled: dict[str, int]
) -> None:
    """A feature is enabled from the metadata version that its class names, as GroupVersion.GV_1."""
    image = MetadataImage("")
    image.feature_levels = levels_of_new_cluster(Release.of(release), {"metadata.version": level})
    assert dict(features_of(release, image).finalized()) == {**enabled, "metadata.version": level}


def test_given_level_takes_precedence_over_that_of_metadata_version() -> None:
    assert levels_of_new_cluster(Release.of("4.0"), {"metadata.version": 21, "group.version": 1}) == {
        "metadata.version": 21,
        "group.version": 1,
        TRANSACTION: 0,
        ELIGIBLE_LEADERS: 0,
    }


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("metadata.version", 6, "metadata.version=6: Kafka 4.4 supports the levels 7 to 33"),
        ("group.versions", 1, "Kafka 4.4 has no feature group.versions; it has group.version, kraft.version"),
    ],
)
def test_unsupported_levels_are_refused(name: str, level: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        levels_of_new_cluster(Release.of("4.4"), {name: level})


def test_disabled_feature_is_not_finalized() -> None:
    assert {name for name, _ in features_of("4.0").finalized()} == {"group.version", TRANSACTION, "metadata.version"}


@pytest.mark.parametrize(("name", "epoch"), [("2.6", -1), ("2.7", 0), ("3.2", 0), ("3.9", 8), ("4.4", 14)])
def test_epoch_depends_on_the_support_of_features(name: str, epoch: int) -> None:
    assert features_of(name).epoch == epoch


@pytest.mark.parametrize(("release", "level"), [("3.9", 0), ("4.0", 2), ("4.4", 2), ("newest", 2), ("2.8", 0)])
def test_new_cluster_has_the_levels_of_its_release(release: str, level: int) -> None:
    assert features_of(release).level(TRANSACTION) == level


def test_change_is_stored_in_the_metadata() -> None:
    metadata = MetadataImage("")
    features_of("4.4", metadata).change(TRANSACTION, 1)
    assert features_of("4.4", metadata).level(TRANSACTION) == 1
    assert features_of("4.4", metadata).epoch == 15


def test_feature_that_has_been_disabled_is_not_listed() -> None:
    metadata = MetadataImage("")
    features_of("4.4", metadata).change("streams.version", 0)
    assert "streams.version" not in dict(features_of("4.4", metadata).finalized())


def test_level_of_a_later_release_is_capped_at_the_supported_maximum() -> None:
    metadata = MetadataImage("")
    metadata.feature_levels["share.version"] = 2
    assert features_of("4.2", metadata).level("share.version") == 1
    assert features_of("3.9", metadata).level("share.version") == 0


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type"),
    [
        (TRANSACTION, 3, UpgradeType.UPGRADE),
        (TRANSACTION, -1, UpgradeType.SAFE_DOWNGRADE),
        (TRANSACTION, 1, UpgradeType.UPGRADE),
        (TRANSACTION, 1, 0),
        (TRANSACTION, 1, 4),
        ("kraft.version", 1, UpgradeType.SAFE_DOWNGRADE),
        ("metadata.version", 32, UpgradeType.UNSAFE_DOWNGRADE),
        ("metadata.version", 6, UpgradeType.UPGRADE),
        ("nope", 0, UpgradeType.UPGRADE),
        ("nope", 1, UpgradeType.UPGRADE),
    ],
)
def test_invalid_change_is_refused(name: str, level: int, upgrade_type: int) -> None:
    with pytest.raises(KafkaError) as refused:
        features_of("4.4").check(name, level, upgrade_type, 1)
    assert refused.value.code is Code.INVALID_UPDATE_VERSION


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type"),
    [
        (TRANSACTION, 2, UpgradeType.UPGRADE),
        (TRANSACTION, 2, UpgradeType.SAFE_DOWNGRADE),
        (TRANSACTION, 0, UpgradeType.SAFE_DOWNGRADE),
        (TRANSACTION, 1, UpgradeType.UNSAFE_DOWNGRADE),
        ("kraft.version", 1, UpgradeType.UPGRADE),
    ],
)
def test_valid_change_is_accepted(name: str, level: int, upgrade_type: int) -> None:
    features_of("4.4").check(name, level, upgrade_type, 1)


@pytest.mark.parametrize(("level", "is_allowed"), [(20, True), (17, True), (16, False), (3, False)])
def test_metadata_version_cannot_be_downgraded_below_a_metadata_change(level: int, is_allowed: bool) -> None:
    features = features_of("3.9")
    if is_allowed:
        features.check("metadata.version", level, UpgradeType.SAFE_DOWNGRADE, 1)
    else:
        with pytest.raises(KafkaError):
            features.check("metadata.version", level, UpgradeType.SAFE_DOWNGRADE, 1)
