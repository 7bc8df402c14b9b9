"""The order in which Java's hash tables go through their keys.

Kafka's assignors walk over HashMaps and HashSets; who gets the one partition too many, and which one it is, follows
from that. A table has 16 slots at first and doubles when it is three quarters full; a key lies in the slot that the
low bits of its hash say, and behind those that came earlier. So the order is: by slot, then by time of insertion,
which is the order that Python's dicts have anyway. (Slots with more than eight keys turn into trees, which are not
followed here; with fewer than 64 slots the table grows instead, which is.)

Kafka's own TimelineHashMap, in which a group keeps its members, differs: 2 slots at first, and the high bits of the
multiplied hash count.

Source: java.util.HashMap, org.apache.kafka.timeline.BaseHashTable, org.apache.kafka.common.Uuid.hashCode.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from kafkalet.broker.cluster.state_topics import java_hash

T = TypeVar("T")

_SMALLEST = 16
_REMEMBERED_CHARACTERS = 256  # a member id may have 32,767
_MULTIPLIER = 0x9E3779B97F4A7C15  # of BaseHashTable.findSlot


def string_hash(text: str) -> int:
    """String.hashCode, as an unsigned number.

    Those of short strings are kept, because every assignment sorts the same names of topics and members again: the hash
    of a member id takes 6 us, looking it up 0.1 us.
    """
    return _remembered_hash(text) if len(text) <= _REMEMBERED_CHARACTERS else java_hash(text)


_remembered_hash = lru_cache(maxsize=4096)(java_hash)


def uuid_hash(uuid: bytes) -> int:
    """Uuid.hashCode, as an unsigned number."""
    number = int.from_bytes(uuid, "big")
    halves = number >> 64 ^ number & 0xFFFFFFFFFFFFFFFF
    return halves >> 32 ^ halves & 0xFFFFFFFF


def grown(count: int, slots: int = _SMALLEST) -> int:
    """The slots of a HashMap into which `count` keys were put one by one."""
    while count * 4 > slots * 3:
        slots *= 2
    return slots


def set_of(count: int) -> int:
    """The slots of a HashSet made of a collection of `count`."""
    return _power_of_two(max(int(count / 0.75) + 1, _SMALLEST))


def with_capacity(capacity: int) -> int:
    """The slots of a HashMap made with this initial capacity."""
    return _power_of_two(capacity)


def slot_of(hashed: int, slots: int) -> int:
    """Where a hash lies in a HashMap with so many slots."""
    return (hashed ^ hashed >> 16) & (slots - 1)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length() if least > 1 else 1


def ordered(keys: Iterable[T], hash_of: Callable[[T], int], slots: int) -> list[T]:
    """Keys in the order of a HashMap with so many slots, given in the order in which they were put in."""
    return sorted(keys, key=lambda key: slot_of(hash_of(key), slots))


def order_of_strings(keys: Collection[str]) -> list[str]:
    """The keys of a HashMap that grew with them."""
    return ordered(keys, string_hash, grown(len(keys)))


def order_of_uuids(keys: Collection[bytes]) -> list[bytes]:
    """The keys of a HashMap that grew with them."""
    return ordered(keys, uuid_hash, grown(len(keys)))


def order_of_numbers(numbers: Sequence[int], slots: int) -> list[int]:
    """Small numbers (partitions), whose hash is their value."""
    if not numbers:
        return []
    if max(numbers) < slots:
        return sorted(numbers)
    return sorted(numbers, key=lambda number: slot_of(number, slots))


def timeline_order(keys: Collection[str], peak: int) -> list[str]:
    """Keys of a TimelineHashMap that once held `peak` of them, given in the order in which they came."""
    slots = 2
    for size in range(peak):
        if (size + 1) * 0.75 > slots:
            slots *= 2
    shift = 64 - (slots.bit_length() - 1)

    def slot(key: str) -> int:
        hashed = string_hash(key)
        signed = hashed - (1 << 32) if hashed >> 31 else hashed
        return (signed * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF) >> shift

    latest_first = list(keys)[::-1]  # as the iterator goes through those of one slot
    return sorted(latest_first, key=slot)
