"""Tests of the revision, which each change of a noting dictionary, a partition or a topic advances."""

from collections.abc import Callable
from typing import Any

import pytest

from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState
from kafkalet.broker.cluster.revision import Noting, Revision


def advances(revision: Revision, change: Callable[[], object]) -> bool:
    before = revision.number
    change()
    return revision.number != before


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda known: known.__setitem__("b", 2), {"a": 1, "b": 2}),
        (lambda known: known.__delitem__("a"), {}),
        (lambda known: known.pop("a"), {}),
        (lambda known: known.pop("b", None), {"a": 1}),
        (lambda known: known.popitem(), {}),
        (lambda known: known.clear(), {}),
        (lambda known: known.setdefault("b", 2), {"a": 1, "b": 2}),
        (lambda known: known.update({"b": 2}, c=3), {"a": 1, "b": 2, "c": 3}),
        (lambda known: known.__ior__({"b": 2}), {"a": 1, "b": 2}),
    ],
)
def test_a_change_of_a_noting_dictionary_advances_the_revision(
    change: Callable[[Any], object], after: dict[str, int]
) -> None:
    known: Noting[str, int] = Noting(revision := Revision())
    known["a"] = 1
    assert advances(revision, lambda: change(known))
    assert known == after


def test_reading_a_noting_dictionary_does_not_advance_the_revision() -> None:
    known: Noting[str, int] = Noting(revision := Revision())
    known["a"] = 1
    assert not advances(revision, lambda: (known["a"], known.get("b"), list(known), known.copy()))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.change_leader(2),
        lambda state: state.change_isr([1]),
        lambda state: state.begin_move([2, 3]),
        lambda state: state.end_move([1], [2], {1}),
        lambda state: state.note_leader_epoch(7),
        lambda state: state.restore(leader=1, isr=[1], leader_epoch=1, partition_epoch=1, adding=[], removing=[]),
    ],
)
def test_a_change_of_a_partition_advances_the_revision(change: Callable[[PartitionState], None]) -> None:
    image = MetadataImage("cluster")
    state = PartitionState(0, [1, 2])
    image.add_topic(TopicState("t", bytes(16), [state], {}))
    assert advances(image.revision, lambda: change(state))


def test_a_change_of_a_topic_advances_the_revision() -> None:
    image = MetadataImage("cluster")
    topic = TopicState("t", bytes(16), [], {})
    assert advances(image.revision, lambda: image.add_topic(topic))
    assert advances(image.revision, lambda: image.topic_changed("t"))
    assert advances(image.revision, lambda: image.remove_topic("t"))
