"""`kafkalet.broker.groups.group`: all types of groups implement its interface."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.consumer.group import ConsumerGroup
from kafkalet.broker.groups.group import Group, GroupType
from kafkalet.broker.groups.share.group import ShareGroup
from kafkalet.broker.groups.streams.group import StreamsGroup
from tests.unit.model.stage import Stage

from .acting import ONE_PARTITION, Acting

ASKED = sorted(name for name in vars(Group) if not name.startswith("_"))


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(1, **ONE_PARTITION)
    yield stage
    stage.close()


def of_each_kind(stage: Stage) -> list[Group]:
    Acting(stage)  # looks up the coordinator
    shard = stage.cluster._server.brokers[1].coordinators.groups.shard_of("g")
    return [kind(shard, "g") for kind in (ClassicGroup, ConsumerGroup, ShareGroup, StreamsGroup)]


@pytest.mark.parametrize("name", ASKED)
def test_all_group_types_implement_interface(stage: Stage, name: str) -> None:
    for group in of_each_kind(stage):
        assert hasattr(group, name)


def test_new_group_of_any_type_is_empty(stage: Stage) -> None:
    for group in of_each_kind(stage):
        assert group.is_empty
        assert group.state == "Empty"
        assert list(group.members) == []
        assert group.group_id == "g"
        group.check_delete()


def test_group_types_are_named_as_in_list_groups(stage: Stage) -> None:
    assert [group.type for group in of_each_kind(stage)] == list(GroupType)
    assert [str(kind) for kind in GroupType] == ["classic", "consumer", "share", "streams"]
