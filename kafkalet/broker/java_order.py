"""Java's hashes of strings, and the iteration order of Java's and Scala's hash tables.

Clients can see both. The hash of an id selects its partition of an internal topic. The iteration order decides which
member gets an extra partition, which protocol wins a tie, and how groups, SASL mechanisms and extensions are sorted.

A table starts with 16 slots and doubles when it is three quarters full. The low bits of a key's hash select its slot;
within a slot, keys stay in insertion order. The iteration order is therefore by slot, then by insertion, and Python's
dicts already keep insertion order. (If a slot holds more than eight keys, Java turns it into a tree, or doubles the
table if it has fewer than 64 slots. Only the doubling is modeled here.)

Kafka's TimelineHashMap, which holds groups and their members, works differently: it starts with 2 slots, and the high
bits of the hash, multiplied by a constant, select the slot.

Source: java.lang.String.hashCode, java.util.HashMap, org.apache.kafka.timeline.BaseHashTable,
org.apache.kafka.common.Uuid.hashCode.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

T = TypeVar("T")

_SMALLEST = 16
_REMEMBERED_CHARACTERS = 256  # a member id can have up to 32,767 characters
_MAX_UINT = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B97F4A7C15  # from BaseHashTable.findSlot


def java_hash(text: str) -> int:
    """Return Java's String.hashCode as an unsigned 32-bit number."""
    hashed = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        hashed = (31 * hashed + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return hashed


def long_hash(eight_bytes: bytes) -> int:
    """Return Java's Long.hashCode as an unsigned 32-bit number."""
    return int.from_bytes(eight_bytes[:4], "big") ^ int.from_bytes(eight_bytes[4:], "big")


_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Return Kafka's Utils.murmur2 as an unsigned 32-bit number."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MAX_UINT
        k = (k ^ k >> 24) * _M & _MAX_UINT
        h = h * _M & _MAX_UINT ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MAX_UINT
    h = (h ^ h >> 13) * _M & _MAX_UINT
    return h ^ h >> 15


def string_hash(text: str) -> int:
    """Return String.hashCode as an unsigned number.

    Hashes of short strings are cached, because every assignment sorts the same topic names and member ids again.
    Hashing a member id takes 6 µs; a cache hit takes 0.1 µs.
    """
    return _remembered_hash(text) if len(text) <= _REMEMBERED_CHARACTERS else java_hash(text)


_remembered_hash = lru_cache(maxsize=4096)(java_hash)


def uuid_hash(uuid: bytes) -> int:
    """Return Uuid.hashCode as an unsigned number."""
    number = int.from_bytes(uuid, "big")
    halves = number >> 64 ^ number & 0xFFFFFFFFFFFFFFFF
    return halves >> 32 ^ halves & 0xFFFFFFFF


def number_hash(number: int) -> int:
    """Return Integer.hashCode as an unsigned number."""
    return number & _MAX_UINT


def topic_partition_hash(topic: str, index: int) -> int:
    """Return TopicPartition.hashCode as an unsigned number."""
    return 31 * (31 + index) + string_hash(topic) & _MAX_UINT


def grown(count: int, slots: int = _SMALLEST) -> int:
    """Return the number of slots of a HashMap after `count` keys have been inserted one by one."""
    while count * 4 > slots * 3:
        slots *= 2
    return slots


def grown_concurrently(count: int) -> int:
    """Return the number of slots of a ConcurrentHashMap. It doubles when it is three quarters full, not after that."""
    return grown(count + 1)


def set_of(count: int) -> int:
    """Return the number of slots of a HashSet created from a collection of `count` elements."""
    return _power_of_two(max(int(count / 0.75) + 1, _SMALLEST))


def with_capacity(capacity: int) -> int:
    """Return the number of slots of a HashMap created with this initial capacity."""
    return _power_of_two(capacity)


def slot_of(hashed: int, slots: int) -> int:
    """Return the slot of a hash in a HashMap with this number of slots."""
    return (hashed ^ hashed >> 16) & (slots - 1)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length() if least > 1 else 1


def ordered(keys: Iterable[T], hash_of: Callable[[T], int], slots: int) -> list[T]:
    """Take keys in insertion order and return them in the iteration order of a HashMap with this number of slots."""
    return sorted(keys, key=lambda key: slot_of(hash_of(key), slots))


class HashTable(Generic[T]):
    """A HashSet, or the keys of a HashMap. It never shrinks."""

    __slots__ = ("_first", "_hash_of", "_last", "_ranks", "_slots")

    def __init__(self, hash_of: Callable[[T], int], slots: int = _SMALLEST, elements: Iterable[T] = ()) -> None:
        self._hash_of = hash_of
        self._ranks = {element: rank for rank, element in enumerate(dict.fromkeys(elements))}  # within a slot
        self._slots = grown(len(self._ranks), slots)
        self._first, self._last = 0, len(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __contains__(self, element: object) -> bool:
        return element in self._ranks

    def __iter__(self) -> Iterator[T]:
        """Return the elements in iteration order, as of now."""
        ranks, hash_of, slots = self._ranks, self._hash_of, self._slots
        return iter(sorted(ranks, key=lambda element: (slot_of(hash_of(element), slots), ranks[element])))

    def add(self, element: T) -> None:
        self._last += 1
        self._ranks.setdefault(element, self._last)
        self._slots = grown(len(self._ranks), self._slots)

    def add_if_absent(self, element: T) -> None:
        """Add a key with computeIfAbsent: as the first of its slot, after the table has grown."""
        if len(self._ranks) * 4 > self._slots * 3:
            self._slots *= 2
        self._first -= 1
        self._ranks.setdefault(element, self._first)

    def discard(self, element: T) -> None:
        self._ranks.pop(element, None)


def order_of_strings(keys: Collection[str]) -> list[str]:
    """Return the keys of a HashMap that grew as they were inserted, in iteration order."""
    return ordered(keys, string_hash, grown(len(keys)))


def order_of_set(strings: Collection[str]) -> list[str]:
    """Return the elements of a HashSet created from a collection of strings, in iteration order."""
    return ordered(strings, string_hash, set_of(len(strings)))


def order_of_scala_map(keys: Collection[str]) -> list[str]:
    """Return the keys of a mutable HashMap of Scala in iteration order. Within a slot, they are sorted by hash."""
    slots = grown_concurrently(len(keys))
    return sorted(keys, key=lambda key: (slot_of(string_hash(key), slots), _signed(string_hash(key))))


def order_of_copy(strings: Collection[str]) -> list[str]:
    """Return the keys of a HashMap created from a HashMap with these keys, in iteration order."""
    return ordered(order_of_strings(strings), string_hash, with_capacity(int(len(strings) / 0.75 + 1)))


def order_of_uuids(keys: Collection[bytes]) -> list[bytes]:
    """Return the keys of a HashMap that grew as they were inserted, in iteration order."""
    return ordered(keys, uuid_hash, grown(len(keys)))


def order_of_numbers(numbers: Collection[int], slots: int | None = None) -> list[int]:
    """Return partition numbers in iteration order. The hash of an Integer is its value.

    Without `slots`, the HashMap grew as they were inserted.
    """
    if not numbers:
        return []
    slots = slots or grown(len(numbers))
    if max(numbers) < slots:
        return sorted(numbers)
    return sorted(numbers, key=lambda number: slot_of(number, slots))


def _signed(hashed: int) -> int:
    return hashed - (1 << 32) if hashed >> 31 else hashed


class TimelineMap(dict[str, T]):
    """A dict that knows its largest size, which determines the iteration order of a TimelineHashMap."""

    __slots__ = ("peak",)

    def __init__(self, items: Mapping[str, T] | None = None, peak: int = 0) -> None:
        super().__init__(items or {})
        self.peak = peak

    def __setitem__(self, key: str, value: T) -> None:
        """Set an item. A map that is almost full grows even if the key is not new."""
        self.peak = max(self.peak, len(self) + 1)
        super().__setitem__(key, value)

    def copy(self) -> "TimelineMap[T]":
        return TimelineMap(self, self.peak)

    def in_order(self) -> list[str]:
        """Return the keys in iteration order."""
        return timeline_order(self, self.peak)


def timeline_order(keys: Collection[str], peak: int) -> list[str]:
    """Take keys in insertion order and return them in the iteration order of a TimelineHashMap.

    `peak` is the largest number of keys that the map has ever held. It determines the size of the map, which never
    shrinks.
    """
    slots = 2
    for size in range(peak):
        if (size + 1) * 0.75 > slots:
            slots *= 2
    shift = 64 - (slots.bit_length() - 1)

    def slot(key: str) -> int:
        return (_signed(string_hash(key)) * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF) >> shift

    latest_first = list(keys)[::-1]  # the iterator returns the newest key of a slot first
    return sorted(latest_first, key=slot)


def place_in_java(name: str) -> int:
    """Return the slot of a name in a HashMap with 16 slots."""
    return slot_of(string_hash(name), _SMALLEST)


def place_in_scala(name: str) -> tuple[int, ...]:
    """Return the path to a name in Scala's immutable HashMap, which uses five bits of the hash at each level."""
    hashed = string_hash(name)
    hashed = hashed + (~(hashed << 9) & _MAX_UINT) & _MAX_UINT
    hashed ^= hashed >> 14
    hashed = hashed + (hashed << 4) & _MAX_UINT
    hashed ^= hashed >> 10
    return tuple(hashed >> bits & 31 for bits in range(0, 32, 5))
