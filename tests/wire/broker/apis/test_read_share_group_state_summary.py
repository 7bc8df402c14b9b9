"""ReadShareGroupStateSummary: the start offset of a share partition, for tools."""

from kafkalet.protocol.errors import Code
from tests.wire.broker.share.requests import ACKNOWLEDGED, store


def test_summary_has_the_count_of_completed_deliveries() -> None:
    with store() as share:
        share.initialize(state_epoch=4, start_offset=2)
        share.write((3, 3, ACKNOWLEDGED, 1), start_offset=2, state_epoch=4, delivery_complete_count=1)
        assert share.summary() == {
            "partition": 0,
            "error_code": Code.NONE,
            "error_message": None,
            "state_epoch": 4,
            "leader_epoch": 0,
            "start_offset": 2,
            "delivery_complete_count": 1,
        }


def test_uninitialized_share_partition_has_no_start_offset() -> None:
    with store() as share:
        summary = share.summary()
        assert (summary["error_code"], summary["start_offset"]) == (Code.NONE, -1)
        assert summary["delivery_complete_count"] == -1
