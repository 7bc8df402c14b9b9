"""Where a share partition begins, and what happens if its state cannot be persisted."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock

from .members import ACCEPT, RELEASE, Jobs, jobs


@pytest.fixture
def group() -> Iterator[Jobs]:
    with jobs() as opened:
        opened.write(4)
        yield opened


@pytest.mark.parametrize(
    ("reset", "found"), [("earliest", [(0, 6, 1)]), ("latest", [(4, 6, 1)]), ("by_duration:PT1H", [(0, 6, 1)])]
)
def test_a_new_group_begins_where_its_configuration_says(group: Jobs, reset: str, found: list[tuple[int, ...]]) -> None:
    group.configure({"share.auto.offset.reset": reset})
    group.member().fetch(max_records=0)
    group.member().fetch(max_bytes=0)
    opened = group.member("opens")
    opened.request(share_acquire_mode=1, max_records=-1)
    group.write(3)
    assert group.member("bob").fetch() == found


def test_the_state_is_stored_when_records_are_acknowledged(group: Jobs) -> None:
    member = group.member()
    member.fetch()
    member.acknowledge((0, 1, ACCEPT), (2, 3, RELEASE))
    assert group.stored() == (0, [(0, 1, 2, 1), (2, 3, 0, 1)])


def test_the_start_offset_is_stored_with_the_next_acknowledgement(group: Jobs) -> None:
    member = group.member()
    member.fetch()
    member.acknowledge((0, 1, ACCEPT))
    member.acknowledge((2, 2, ACCEPT))
    assert group.stored() == (2, [(2, 2, 2, 1)])


def test_locks_that_expire_are_stored() -> None:
    clock = ManualClock()
    with jobs(clock=clock) as group:
        group.write(4)
        group.member().fetch()
        clock.advance(seconds=30)
        assert group.stored() == (0, [(0, 3, 0, 1)])
