"""WriteShareGroupState: deliveries of a share partition are stored."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.requests import ACKNOWLEDGED, Store, store


@pytest.fixture
def share() -> Iterator[Store]:
    with store() as opened:
        yield opened


def test_written_batches_are_read_again(share: Store) -> None:
    share.initialize()
    assert share.write((0, 4, ACKNOWLEDGED, 1)) == {"partition": 0, "error_code": 0, "error_message": None}
    assert share.batches() == [(0, 4, ACKNOWLEDGED, 1)]


def test_lower_start_offset_does_not_move_it_back(share: Store) -> None:
    share.initialize(start_offset=5)
    share.write(start_offset=2, delivery_complete_count=9)
    summary = share.summary()
    assert (summary["start_offset"], summary["delivery_complete_count"]) == (5, 0)


def test_higher_start_offset_comes_with_its_number_of_completed_deliveries(share: Store) -> None:
    share.initialize(start_offset=5)
    share.write(start_offset=6, delivery_complete_count=9)
    share.write(start_offset=6, delivery_complete_count=3)
    summary = share.summary()
    assert (summary["start_offset"], summary["delivery_complete_count"]) == (6, 9)


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"partition": -1}, Code.INVALID_REQUEST, "The partition id cannot be a negative number."),
        ({"leader_epoch": -1}, Code.INVALID_REQUEST, "The leader epoch cannot be a negative number."),
        ({"state_epoch": -1}, Code.INVALID_REQUEST, "The state epoch cannot be a negative number."),
        ({"partition": 1}, Code.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed."),
        (
            {"leader_epoch": 1},
            Code.FENCED_LEADER_EPOCH,
            "The leader epoch in the request is older than the epoch on the broker.",
        ),
        (
            {"leader_epoch": 2, "state_epoch": 2},
            Code.FENCED_STATE_EPOCH,
            "The coordinator rejected the request because the state epoch did not match.",
        ),
    ],
)
def test_refused(share: Store, fields: dict[str, int], code: Code, message: str) -> None:
    share.initialize(state_epoch=3)
    share.read(leader_epoch=2)
    result = share.write(**{"leader_epoch": 2, "state_epoch": 3, **fields})
    assert (result["error_code"], result["error_message"]) == (code, message)
