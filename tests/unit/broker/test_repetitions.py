"""Tests of the repeated requests of a connection, with plans that only record their numbers."""

import weakref
from struct import Struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkalet.broker import repetitions
from kafkalet.broker.cluster.revision import Revision
from kafkalet.broker.context import Context
from kafkalet.broker.repetitions import Outdated, Repetitions
from kafkalet.protocol.wire import Chunk

LAYOUT = Struct(">4si3sq2s")
OTHER = Struct(">4si1sq4s")
CONTEXT = cast(Context, SimpleNamespace())


class Recording:
    """A plan whose response is its name."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.numbers: list[tuple[int, ...]] = []
        self.is_outdated = False

    def answer(self, numbers: tuple[int, ...], context: Context, out: list[Chunk]) -> int | None:
        if self.is_outdated:
            raise Outdated
        self.numbers.append(numbers)
        out.append(self.name)
        return len(self.name)


def frame(correlation_id: int = 0, middle: bytes = b"abc", offset: int = 0, end: bytes = b"de") -> bytes:
    return LAYOUT.pack(b"\0\1\0\x0c", correlation_id, middle, offset, end)


def answers(known: Repetitions[Context], request: bytes) -> list[Any]:
    out: list[Chunk] = []
    known.answer(request, CONTEXT, out)
    return out


@pytest.fixture
def revision() -> Revision:
    return Revision()


@pytest.fixture
def known(revision: Revision) -> Repetitions[Context]:
    return Repetitions(revision)


def test_plan_gets_the_numbers_of_a_repetition(known: Repetitions[Context]) -> None:
    known.add(LAYOUT, frame(), plan := Recording(b"plan"))
    assert answers(known, frame(7, offset=-3)) == [b"plan"]
    assert answers(known, bytearray(frame(8))) == [b"plan"]
    assert plan.numbers == [(7, -3), (8, 0)]


@pytest.mark.parametrize(
    "request_", [frame(middle=b"abd"), frame(end=b"df"), b"\0\2" + frame()[2:], frame() + b"x", frame()[:-1], b""]
)
def test_other_requests_have_no_plan(known: Repetitions[Context], request_: bytes) -> None:
    known.add(LAYOUT, frame(), Recording(b"plan"))
    assert answers(known, request_) == []


def test_requests_of_one_layout_have_separate_plans(known: Repetitions[Context]) -> None:
    known.add(LAYOUT, frame(middle=b"one"), Recording(b"first"))
    known.add(LAYOUT, frame(middle=b"two"), Recording(b"second"))
    assert answers(known, frame(middle=b"two")) == [b"second"]
    assert answers(known, frame(middle=b"one")) == [b"first"]


def test_later_layout_replaces_one_of_the_same_length(known: Repetitions[Context]) -> None:
    known.add(LAYOUT, frame(), Recording(b"first"))
    request = OTHER.pack(b"\0\2\0\1", 0, b"a", 0, b"bcde")
    known.add(OTHER, request, Recording(b"second"))
    assert answers(known, request) == [b"second"]
    assert answers(known, frame()) == []


def test_outdated_plan_is_removed(known: Repetitions[Context]) -> None:
    known.add(LAYOUT, frame(), plan := Recording(b"plan"))
    plan.is_outdated = True
    assert answers(known, frame()) == []
    plan.is_outdated = False
    assert answers(known, frame()) == []


def test_plans_are_dropped_when_the_cluster_has_changed(known: Repetitions[Context], revision: Revision) -> None:
    known.should_learn("a")
    plan = Recording(b"plan")
    known.add(LAYOUT, frame(), plan)
    held = weakref.ref(plan)
    del plan
    revision.advance()
    assert answers(known, OTHER.pack(b"\0\2\0\1", 0, b"a", 0, b"bcde")) == []
    assert held() is None
    assert known.should_learn("a")  # again
    known.add(LAYOUT, frame(), Recording(b"new"))
    assert answers(known, frame()) == [b"new"]


def test_request_is_learned_when_it_is_repeated(known: Repetitions[Context]) -> None:
    assert [known.should_learn("a"), known.should_learn("b"), known.should_learn("a")] == [False, False, True]


def test_least_recently_used_plan_is_replaced(known: Repetitions[Context], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetitions, "MOST_PLANS", 2)
    names = [b"one", b"two", b"six"]
    for name in names[:2]:
        known.add(LAYOUT, frame(middle=name), Recording(name))
    answers(known, frame(middle=b"one"))
    known.add(LAYOUT, frame(middle=b"six"), Recording(b"six"))
    assert [answers(known, frame(middle=name)) for name in names] == [[b"one"], [], [b"six"]]


def test_few_requests_are_learned_while_there_are_many_plans(
    known: Repetitions[Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetitions, "MOST_PLANS", 1)
    monkeypatch.setattr(repetitions, "MISSES_PER_PLAN", 3)
    known.should_learn("a")
    known.add(LAYOUT, frame(), Recording(b"plan"))
    assert [known.should_learn("a") for _ in range(6)] == [False, False, True] * 2


def test_noted_requests_are_limited(known: Repetitions[Context], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetitions, "MOST_NOTED", 2)
    for request in "abc":
        known.should_learn(request)
    assert not known.should_learn("a")
