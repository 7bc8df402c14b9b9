"""The order in which Java iterates over a HashMap or a HashSet of strings.

Clients can see it: the enabled mechanisms in SaslHandshake responses have this order, and so do the extensions in the
text that SCRAM clients sign.

Source: java.lang.String.hashCode, java.util.HashMap.hash.
"""

from collections.abc import Iterable


def hash_order(strings: Iterable[str], table_size: int = 16) -> list[str]:
    """Return strings in the order of a HashMap with `table_size` buckets, to which they were added in this order."""
    return sorted(dict.fromkeys(strings), key=lambda text: _hash(text) & (table_size - 1))


def copy_table_size(count: int) -> int:
    """Return the number of buckets of `new HashMap<>(map)` for a map with `count` entries."""
    size = 1
    while size < int(count / 0.75 + 1):
        size *= 2
    return size


def _hash(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return code ^ code >> 16
