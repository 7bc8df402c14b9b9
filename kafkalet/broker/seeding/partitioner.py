"""The default partitioner of the Java producer (BuiltInPartitioner)."""

from kafkalet.broker.java_order import murmur2


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition for a key in a topic with `partitions` partitions (1 or more)."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
