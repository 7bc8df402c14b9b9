import pickle

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet_spark.live.refusals import OffsetOutOfRange, PartitionRefused, Unreachable

REFUSALS = [
    OffsetOutOfRange("t", 3, 10, 20, 30),
    PartitionRefused(Code.NOT_LEADER_OR_FOLLOWER, "t", 3, "Fetch of"),
    Unreachable("cannot connect to broker a:1"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: type(refusal).__name__)
def test_errors_survive_pickling(refusal: Exception) -> None:
    copy = pickle.loads(pickle.dumps(refusal))
    assert type(copy) is type(refusal)
    assert (str(copy), vars(copy)) == (str(refusal), vars(refusal))


def test_offset_out_of_range_names_the_offsets_of_the_log() -> None:
    refusal = OffsetOutOfRange("t", 3, 10, 20, 30)
    assert str(refusal) == "OFFSET_OUT_OF_RANGE: offset 10 is not in t-3, which has offsets 20 to 30"
    assert (refusal.log_start_offset, refusal.log_end_offset, refusal.offset) == (20, 30, 10)
    assert isinstance(refusal, KafkaError)


def test_partition_error_names_the_partition() -> None:
    refusal = PartitionRefused(Code.TOPIC_AUTHORIZATION_FAILED, "t", 3, "ListOffsets of")
    assert str(refusal) == "TOPIC_AUTHORIZATION_FAILED: ListOffsets of t-3"
