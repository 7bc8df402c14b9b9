"""Which epochs members of a consumer group may commit and read offsets with."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.consuming import Consuming


def test_a_member_commits_in_its_epoch(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("a", 2) == 0


def test_an_older_epoch_will_do_for_what_the_member_has_had_since(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    consuming.settle()
    [kept, *_] = consuming.owned["a"]["t"]
    [new, *_] = consuming.owned["b"]["t"]
    assert consuming.epochs["a"] == 3
    assert consuming.commit("a", 2, partition=kept) == 0
    assert consuming.commit("a", 2, partition=new) == Code.STALE_MEMBER_EPOCH
    assert consuming.commit("b", 2, partition=new) == Code.STALE_MEMBER_EPOCH


def test_what_is_to_be_given_back_may_still_be_committed(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.join("b", "t")
    kept = consuming.beat("a")["t"]
    [given_back, *_] = set(range(6)) - set(kept)
    assert consuming.commit("a", 2, partition=given_back) == 0


def test_an_epoch_of_the_future_is_stale_too(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("a", 3) == Code.STALE_MEMBER_EPOCH


def test_who_is_no_member_does_not_commit(consuming: Consuming) -> None:
    consuming.join("a", "t")
    assert consuming.commit("b", 2) == Code.UNKNOWN_MEMBER_ID
    assert consuming.commit("", -1) == Code.UNKNOWN_MEMBER_ID


def test_an_empty_group_is_anybodys(consuming: Consuming) -> None:
    consuming.join("a", "t")
    consuming.leave("a")
    assert consuming.commit("", -1) == 0


def test_commits_older_than_member_epochs_are_refused(consuming: Consuming) -> None:
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
def test_who_reads_offsets_is_asked_for_his_epoch(
    consuming: Consuming, member_id: str | None, epoch: int, code: Code
) -> None:
    consuming.join("a", "t")
    group = {"group_id": "g", "member_id": member_id, "member_epoch": epoch, "topics": None}
    answer = consuming.stage.ask(Api.OFFSET_FETCH, 9, 1, groups=[group], require_stable=False)
    assert answer["groups"][0]["error_code"] == code
