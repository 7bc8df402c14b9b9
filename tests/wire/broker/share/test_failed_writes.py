"""What a group gets when __share_group_state cannot be written: an error, and everything is as before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code
from tests.unit.storage.failing_disk import FailingDisk
from tests.wire.broker.apis import sharing

from .members import ACCEPT, REJECT, RELEASE, Jobs, jobs, partition_of


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FailingDisk]:
    """The disk of a broker whose data is temporary. It fails when a test says so."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with FailingDisk(tmp_path) as disk:
        yield disk


@pytest.fixture
def group(disk: FailingDisk) -> Iterator[Jobs]:
    with jobs() as opened:
        opened.write(10)
        yield opened


def test_an_acknowledgement_that_cannot_be_stored_changes_nothing(group: Jobs, disk: FailingDisk) -> None:
    alice, bob = group.member("alice"), group.member("bob")
    alice.fetch()
    before = group.stored()
    disk.fail_from(0)
    assert alice.acknowledge((0, 3, ACCEPT), (4, 5, RELEASE), (6, 6, REJECT)) is Code.COORDINATOR_NOT_AVAILABLE
    assert bob.fetch() == []
    assert group.stored() == before
    disk.heal()
    assert alice.acknowledge((0, 3, ACCEPT), (4, 5, RELEASE), (6, 6, REJECT)) is Code.NONE
    assert bob.fetch() == [(4, 5, 2)]


def test_a_fetch_returns_records_although_its_acknowledgement_cannot_be_stored(group: Jobs, disk: FailingDisk) -> None:
    member = group.member()
    member.fetch()
    group.write(2)
    disk.fail_from(0)
    assert member.fetch((0, 9, ACCEPT)) == [(10, 11, 1)]
    assert partition_of(member.last)["acknowledge_error_code"] == Code.COORDINATOR_NOT_AVAILABLE
    disk.heal()
    assert member.fetch((0, 9, ACCEPT)) == []
    assert partition_of(member.last)["acknowledge_error_code"] == Code.NONE


@pytest.mark.parametrize(
    ("topic", "error", "errors"),
    [("__consumer_offsets", Code.NOT_COORDINATOR, []), ("__share_group_state", Code.NONE, [Code.NOT_COORDINATOR] * 2)],
)
def test_start_offsets_that_cannot_be_stored_are_not_altered(
    disk: FailingDisk, tmp_path: Path, topic: str, error: Code, errors: list[Code]
) -> None:
    with sharing.jobs() as group:
        group.alter({0: 3, 1: 5})
        [directory] = tmp_path.glob("kafkalet-*")
        disk.directory = str(directory / topic)
        disk.fail_from(0)
        answer = group.alter({0: 7, 1: 8})
        disk.heal()
        found = [each["error_code"] for topic in answer["responses"] for each in topic["partitions"]]
        assert (answer["error_code"], found) == (error, errors)
        assert group.starts() == {0: 3, 1: 5}
        assert group.alter({0: 7, 1: 8})["error_code"] == Code.NONE
        assert group.starts() == {0: 7, 1: 8}
