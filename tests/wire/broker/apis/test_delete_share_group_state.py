"""DeleteShareGroupState: the state of a share partition is gone."""

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.requests import store


def test_deleted_state_is_uninitialized() -> None:
    with store() as share:
        share.initialize(start_offset=2)
        assert share.delete()["error_code"] == Code.NONE
        assert share.summary()["start_offset"] == -1


def test_deleting_what_is_not_stored_succeeds() -> None:
    with store() as share:
        assert share.delete()["error_code"] == Code.NONE


def test_unknown_topic_is_refused() -> None:
    with store() as share:
        assert (
            share.delete(topic_id="00000000-0000-0000-0000-0000000000ab")["error_code"]
            == Code.UNKNOWN_TOPIC_OR_PARTITION
        )
