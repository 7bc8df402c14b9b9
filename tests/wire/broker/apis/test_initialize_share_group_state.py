"""InitializeShareGroupState: a share partition gets a start offset and a state epoch."""

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.requests import ACKNOWLEDGED, store


def test_second_initialization_discards_what_was_delivered() -> None:
    with store() as share:
        share.initialize()
        share.write((0, 4, ACKNOWLEDGED, 1))
        assert share.initialize(state_epoch=1, start_offset=9)["error_code"] == Code.NONE
        assert (share.summary()["start_offset"], share.batches()) == (9, [])


def test_lower_state_epoch_is_fenced() -> None:
    with store() as share:
        share.initialize(state_epoch=2)
        assert share.initialize(state_epoch=1)["error_code"] == Code.FENCED_STATE_EPOCH


def test_unknown_topic_and_partition_are_refused() -> None:
    with store() as share:
        assert (
            share.initialize(topic_id="00000000-0000-0000-0000-0000000000ab")["error_code"]
            == Code.UNKNOWN_TOPIC_OR_PARTITION
        )
        assert share.initialize(partition=1)["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_request_without_a_group_id_gets_an_empty_response() -> None:
    with store() as share:
        body = {"group_id": "", "topics": [{"topic_id": share.topic_id, "partitions": [{"partition": 0}]}]}
        assert share.wire.ask("InitializeShareGroupState", 0, body) == {"results": []}
