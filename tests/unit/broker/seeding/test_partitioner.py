"""Tests of the partitioner, which chooses the same partitions as the Java producer."""

import pytest

from kafkalet.broker.seeding.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "hash_"),
    [
        # From UtilsTest.testMurmur2 of Apache Kafka.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_java(key: bytes, hash_: int) -> None:
    assert murmur2(key) == hash_ % (1 << 32)


def test_an_empty_key_is_a_key() -> None:
    assert partition_of(b"", 10) == (murmur2(b"") & 0x7FFFFFFF) % 10


def test_single_partition_gets_all_keys() -> None:
    assert {partition_of(bytes([byte]), 1) for byte in range(256)} == {0}
