"""Coordinators store their state in the value versions of the emulated release, which other versions of Kafka read."""

import pytest

from .groups.acting import Acting
from .groups.committing import Committing, committing


def versions_in(client: Committing, topic: str) -> set[int]:
    """Return the versions of the values in the first partition of a topic."""
    records = [record for batch in client.stage.cluster.topic(topic).log().batches for record in batch.records()]
    return {int.from_bytes(record.value[:2]) for record in records if record.value is not None}


@pytest.mark.parametrize(("release", "version"), [("3.9", 3), ("4.4", 4)])
def test_offset_has_the_value_version_of_the_release(release: str, version: int) -> None:
    with committing(version=release) as client:
        client.commit({0: 5})
        assert versions_in(client, "__consumer_offsets") == {version}


@pytest.mark.parametrize(("release", "version"), [("2.2", 2), ("2.3", 3)])
def test_classic_group_has_the_value_version_of_the_release(release: str, version: int) -> None:
    with committing(version=release) as client:
        Acting(client.stage).stable(version=4)
        assert versions_in(client, "__consumer_offsets") == {version}


@pytest.mark.parametrize(("release", "version"), [("3.9", 0), ("4.4", 1)])
def test_transaction_has_the_value_version_of_the_release(release: str, version: int) -> None:
    with committing(version=release) as client:
        client.begin_transaction()
        assert versions_in(client, "__transaction_state") == {version}
