"""ReadShareGroupState: a new leader reads what has been delivered."""

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.requests import store


def test_leader_epoch_of_the_request_fences_older_leaders() -> None:
    with store() as share:
        share.initialize()
        assert share.read(leader_epoch=3)["error_code"] == Code.NONE
        assert share.read(leader_epoch=2)["error_code"] == Code.FENCED_LEADER_EPOCH
        assert share.summary()["leader_epoch"] == 3


def test_uninitialized_share_partition_is_refused() -> None:
    with store() as share:
        result = share.read()
        assert result["error_code"] == Code.INVALID_REQUEST
        assert result["error_message"] == "Read operation on uninitialized share partition not allowed."


def test_negative_numbers_are_refused() -> None:
    with store() as share:
        assert share.read(leader_epoch=-1)["error_message"] == "The leader epoch cannot be a negative number."
        assert share.read(partition=-1)["error_message"] == "The partition id cannot be a negative number."
