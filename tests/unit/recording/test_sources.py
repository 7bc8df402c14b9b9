"""`tools.recording.sources`: the full names of the classes and methods that scenarios name."""

import pytest

from tools.recording.sources import full_names


def test_class_gets_its_package() -> None:
    assert full_names("KIP-101 Partition.lastOffsetForLeaderEpoch") == (
        "KIP-101",
        "kafka.cluster.Partition.lastOffsetForLeaderEpoch",
    )


def test_full_name_stays() -> None:
    name = "org.apache.kafka.storage.internals.log.UnifiedLog.append"
    assert full_names(name) == (name,)


def test_unknown_class_is_refused() -> None:
    with pytest.raises(ValueError, match="add the package of Unheard to"):
        full_names("Unheard.of")
