"""`kafkalet.broker.groups.group`: both kinds of groups can be asked all that it names."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.groups.classic.group import ClassicGroup
from kafkalet.broker.groups.consumer.group import ConsumerGroup
from kafkalet.broker.groups.group import Group, GroupType
from tests.unit.model.stage import Stage

from .acting import ONE_PARTITION, Acting

ASKED = sorted(name for name in vars(Group) if not name.startswith("_"))


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(1, **ONE_PARTITION)
    yield stage
    stage.close()


def of_each_kind(stage: Stage) -> list[Group]:
    Acting(stage)  # somebody has asked for the coordinator
    shard = stage.cluster.server.brokers[1].coordinators.groups.shard_of("g")
    return [ClassicGroup(shard, "g"), ConsumerGroup(shard, "g")]


@pytest.mark.parametrize("name", ASKED)
def test_every_kind_of_group_can_be_asked(stage: Stage, name: str) -> None:
    for group in of_each_kind(stage):
        assert hasattr(group, name)


def test_a_new_group_of_any_kind_is_empty(stage: Stage) -> None:
    for group in of_each_kind(stage):
        assert group.is_empty
        assert group.state == "Empty"
        assert list(group.members) == []
        assert group.group_id == "g"
        group.check_delete()


def test_kinds_have_their_names_in_list_groups(stage: Stage) -> None:
    assert [group.type for group in of_each_kind(stage)] == [GroupType.CLASSIC, GroupType.CONSUMER]
    assert [str(kind) for kind in GroupType] == ["classic", "consumer"]
