"""What clients see does not depend on the layout: segments, indexes, codecs, restarts, brokers, disks, fast paths."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from .histories import Look, Step, histories, play
from .layouts import Layout, deployed, layouts

pytestmark = pytest.mark.slow

PLAIN = Layout()


def seen(history: list[Step], layout: Layout) -> list[object]:
    with deployed(layout) as deployment:
        return play(history, deployment)


def check(history: list[Step], layout: Layout) -> None:
    expected = seen(history, PLAIN)
    found = seen(history, layout)
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert one == other, f"step {number}: {history[number] if number < len(history) else 'the end'}"


@given(histories(), layouts())
@settings(max_examples=settings().max_examples // 2)
def test_layout_has_no_effect_on_what_clients_see(history: list[Step], layout: Layout) -> None:
    check(history, layout)


@given(histories())
@settings(max_examples=settings().max_examples // 4)
def test_repeated_requests_get_the_same_responses_without_fast_paths(history: list[Step]) -> None:
    """A consumer that reads again and again from the same connection, while records arrive."""
    polled = [each for step in history for each in (step, *(Look(partition) for partition in (0, 0, 1, 1)))]
    check(polled, replace(PLAIN, has_fast_paths=False))
