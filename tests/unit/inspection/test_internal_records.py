"""Records of internal topics are shown with the names of their fields."""

from kafkalet.broker.groups.offsets_records import CommittedOffset, encode_key, encode_value, key_head
from kafkalet.broker.share import records as share
from kafkalet.broker.share.state import SharePartitionKey, SharePartitionState, StateBatch
from kafkalet.broker.transactions import records as transactions
from kafkalet.broker.transactions.metadata import Metadata, State
from kafkalet.inspection.internal_records import Decoder, decode
from kafkalet.protocol.messages.metadata_records import FeatureLevelRecord
from kafkalet.protocol.metadata_frame import encode_record
from kafkalet.protocol.records.record import Record


def test_committed_offset_has_group_partition_and_offset() -> None:
    key = encode_key(key_head("g", "orders"), 3)
    found = decode(Record(0, 0, key, encode_value(CommittedOffset(42, 1, "m"), 3)), Decoder.OFFSETS)
    assert found is not None
    assert found.value is not None
    assert (found.type, found.key) == ("OffsetCommit", {"version": 1, "group": "g", "topic": "orders", "partition": 3})
    assert (found.value["offset"], found.value["leader_epoch"], found.value["metadata"]) == (42, 1, "m")


def test_topic_id_of_committed_offset_is_text() -> None:
    value = encode_value(CommittedOffset(42, topic_id=bytes(15) + b"\1"), 4)
    found = decode(Record(0, 0, encode_key(key_head("g", "t"), 0), value), Decoder.OFFSETS)
    assert found is not None
    assert found.value is not None
    assert found.value["topic_id"] == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_tombstone_has_no_value() -> None:
    found = decode(Record(0, 0, encode_key(key_head("g", "t"), 0), None), Decoder.OFFSETS)
    assert found is not None
    assert found.value is None


def test_transaction_has_state_and_partitions() -> None:
    metadata = Metadata(
        producer_id=7, producer_epoch=2, timeout_ms=1000, state=State.ONGOING, partitions=frozenset({("t", 1)}),
        start_ms=5, update_ms=6,
    )  # fmt: skip
    record = Record(0, 0, transactions.encode_key("tx"), transactions.encode_value(metadata, 0))
    found = decode(record, Decoder.TRANSACTIONS)
    assert found is not None
    assert found.value is not None
    assert found.key == {"version": 0, "transactional_id": "tx"}
    assert found.value["transaction_partitions"] == [{"topic": "t", "partition_ids": [1]}]


def test_update_of_a_share_partition_has_its_batches() -> None:
    key = SharePartitionKey("jobs", bytes(15) + b"\1", 2)
    record = share.update(key, SharePartitionState(0, 5, batches=(StateBatch(5, 9, 2, 1),)))
    found = decode(Record(0, 0, *record), Decoder.SHARE)
    assert found is not None
    assert found.value is not None
    assert found.type == "ShareUpdate"
    assert found.key == {"version": 1, "group_id": "jobs", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "partition": 2}
    assert found.value["state_batches"] == [
        {"first_offset": 5, "last_offset": 9, "delivery_state": 2, "delivery_count": 1}
    ]


def test_metadata_record_has_its_type() -> None:
    value = encode_record(FeatureLevelRecord(name="kraft.version", feature_level=1), 0)
    found = decode(Record(0, 0, None, value), Decoder.METADATA)
    assert found == ("FeatureLevelRecord", None, {"name": "kraft.version", "feature_level": 1})


def test_record_that_cannot_be_decoded_is_left_unchanged() -> None:
    for key in (None, b"", b"\0", b"\0\x63", b"\0\1\0\5"):
        assert decode(Record(0, 0, key, b"x"), Decoder.OFFSETS) is None
    assert decode(Record(0, 0, b"\0\1", b"x"), Decoder.NONE) is None
    assert decode(Record(0, 0, None, b"\7\7"), Decoder.METADATA) is None
