"""The offset map: the offset of the newest record of each key (Kafka's SkimpyOffsetMap).

Kafka stores a hash of each key in a table of fixed size. A round of the cleaner ends where the table is full, so the
limit decides which records are removed. This map has the same limit but stores the keys themselves.
"""

from collections.abc import Sequence

from kafkalet.protocol.records.record import Record

ENTRY_BYTES = 24
"""The size of an entry in Kafka: an MD5 hash and an offset."""
MAX_BUFFER_BYTES = (1 << 31) - 1


class MapTooSmall(Exception):
    """The buffer has no room for a single key."""


class OffsetMap:
    """The newest offset of each key, for at most `limit` keys."""

    __slots__ = ("latest_offset", "limit", "offsets")

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        """`buffer_bytes` is the size that Kafka's table would have. Raises MapTooSmall."""
        slots = min(buffer_bytes, MAX_BUFFER_BYTES) // ENTRY_BYTES
        if slots * load_factor <= 1:
            raise MapTooSmall(
                "offset map is too small to fit in even a single message, so log cleaning will never make progress. "
                "You can increase log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads"
            )
        self.limit = min(int(slots * load_factor), slots)
        self.offsets: dict[bytes, int] = {}
        self.latest_offset = -1
        """The offset up to which records have been added, inclusive; -1 if there is none.

        If `put_all` does not fill the map, the caller has to set it.
        """

    def __len__(self) -> int:
        return len(self.offsets)

    def put(self, key: bytes, offset: int) -> bool:
        """Add a record. Return False, and change nothing, if the map is full, even for a key that it contains."""
        if len(self.offsets) >= self.limit:
            return False
        self.offsets[key] = offset
        self.latest_offset = offset
        return True

    def put_all(self, records: Sequence[Record]) -> bool:
        """Add the records that have a key, in the order of their offsets. Return False if the map gets full."""
        offsets = self.offsets
        if len(offsets) + len(records) <= self.limit:
            offsets.update([(record.key, record.offset) for record in records if record.key is not None])
            return True
        return all(record.key is None or self.put(record.key, record.offset) for record in records)

    def get(self, key: bytes) -> int:
        """Return the newest offset of a key, or -1."""
        return self.offsets.get(key, -1)
