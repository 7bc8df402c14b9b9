"""The member epochs with which members of a consumer group may commit and fetch offsets."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import Consuming


def test_member_commits_with_its_epoch(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("a", 2) == 0


def test_older_epoch_is_valid_for_partitions_assigned_since(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.settle()
    [kept, *_] = consuming.owned["a"]["t"]
    [new, *_] = consuming.owned["b"]["t"]
    assert consuming.epochs["a"] == 3
    assert consuming.commit("a", 2, partition=kept) == 0
    assert consuming.commit("a", 2, partition=new) == Code.STALE_MEMBER_EPOCH
    assert consuming.commit("b", 2, partition=new) == Code.STALE_MEMBER_EPOCH


def test_partition_pending_revocation_can_be_committed(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    kept = consuming.beat("a")["t"]
    [given_back, *_] = set(range(6)) - set(kept)
    assert consuming.commit("a", 2, partition=given_back) == 0


def test_later_epoch_is_stale(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("a", 3) == Code.STALE_MEMBER_EPOCH


def test_non_member_cannot_commit(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("b", 2) == Code.UNKNOWN_MEMBER_ID
    assert consuming.commit("", -1) == Code.UNKNOWN_MEMBER_ID


def test_empty_group_accepts_commits_without_member_id(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.leave("a")
    assert consuming.commit("", -1) == 0


def test_commits_before_v9_are_refused(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("a", 2, version=8) == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        ("a", 2, Code.NONE),
        ("a", 1, Code.STALE_MEMBER_EPOCH),
        ("a", 3, Code.STALE_MEMBER_EPOCH),
        ("b", 2, Code.UNKNOWN_MEMBER_ID),
        (None, -1, Code.NONE),
    ],
)
def test_offset_fetch_checks_member_epoch(consuming: Consuming, member_id: str | None, epoch: int, code: Code) -> None:
    consuming.join("a", "t")
    group = {"group_id": "g", "member_id": member_id, "member_epoch": epoch, "topics": None}
    answer = consuming.stage.ask(Api.OFFSET_FETCH, 9, 1, groups=[group], require_stable=False)
    assert answer["groups"][0]["error_code"] == code
