"""Batch headers and checksums."""

from kafkalet.protocol.records.batch import HEADER_SIZE, Batch
from kafkalet_spark.writing.batch_headers import HEAD_BYTES, new_heads, sealed


def test_header_has_kafkas_size() -> None:
    assert HEAD_BYTES == HEADER_SIZE


def test_sealed_header_has_length_and_checksum() -> None:
    heads = new_heads(2, leader_epoch=4)
    heads["count"] = [1, 2]
    heads["max_timestamp"] = [10, 20]
    payloads = [b"some bytes", memoryview(b"other")]
    for head, payload, count in zip(sealed(heads, payloads), payloads, (1, 2), strict=True):
        batch = Batch(bytes(head) + bytes(payload))
        batch.check_crc()
        assert batch.size == HEADER_SIZE + len(payload)
        assert (batch.count, batch.max_timestamp, batch.leader_epoch) == (count, count * 10, 4)


def test_header_without_producer_has_minus_one() -> None:
    (head,) = sealed(new_heads(1, 0), [b""])
    batch = Batch(bytes(head))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1)
