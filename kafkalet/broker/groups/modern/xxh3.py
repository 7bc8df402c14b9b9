"""The 64-bit XXH3 hash without a seed, which Kafka has used for the topics of a group since 4.1.

There are separate formulas for inputs of up to 16, 128 and 240 bytes. Longer inputs are consumed in 64-byte stripes by
eight accumulators, which are scrambled after each block of 16 stripes (1 KiB).

Source: the specification of XXH3 at github.com/Cyan4973/xxHash; com.dynatrace.hash4j.hashing in Kafka.
"""

from struct import Struct, unpack_from

_M = (1 << 64) - 1
_P32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MIX_1, _MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE, _STRIPES_PER_BLOCK = 64, 16
_LANES = Struct("<8Q")
_INITIAL = (_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0])


def xxh3_64(data: bytes) -> int:
    """Return the hash of the data as an unsigned number."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 128:
        return _up_to_128(data, size)
    return _up_to_240(data, size) if size <= 240 else _long(data, size)


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _fold(a: int, b: int) -> int:
    """Multiply two numbers and XOR the two halves of the product."""
    product = a * b
    return (product ^ product >> 64) & _M


def _avalanche(h: int) -> int:
    h ^= h >> 37
    h = h * _MIX_1 & _M
    return h ^ h >> 32


def _avalanche_64(h: int) -> int:
    """Apply the final mix of XXH64, which is used for up to 3 bytes."""
    h ^= h >> 33
    h = h * _P64[1] & _M
    h ^= h >> 29
    h = h * _P64[2] & _M
    return h ^ h >> 32


def _up_to_16(data: bytes, size: int) -> int:
    if size > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _fold(low, high)) & _M)
    if size >= 4:
        h = (_u32(data, size - 4) + (_u32(data, 0) << 32) & _M) ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        h ^= (h << 49 | h >> 15) & _M ^ (h << 24 | h >> 40) & _M
        h = h * _MIX_2 & _M
        h ^= (h >> 35) + size
        h = h * _MIX_2 & _M
        return h ^ h >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _avalanche_64(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _avalanche_64(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _mix(data: bytes, at: int, secret: int) -> int:
    return _fold(_u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8))


def _up_to_128(data: bytes, size: int) -> int:
    h = size * _P64[0]
    for index in range((size - 1) // 32, -1, -1):
        h += _mix(data, 16 * index, 32 * index) + _mix(data, size - 16 * (index + 1), 32 * index + 16)
    return _avalanche(h & _M)


def _up_to_240(data: bytes, size: int) -> int:
    h = size * _P64[0] + sum(_mix(data, 16 * index, 16 * index) for index in range(8))
    h = _avalanche(h & _M)
    h += sum(_mix(data, 16 * index, 16 * (index - 8) + 3) for index in range(8, size // 16))
    return _avalanche(h + _mix(data, size - 16, 136 - 17) & _M)


def _long(data: bytes, size: int) -> int:
    lanes = list(_INITIAL)
    stripes = (size - 1) // _STRIPE
    for stripe in range(stripes):
        _accumulate(lanes, data, stripe * _STRIPE, 8 * (stripe % _STRIPES_PER_BLOCK))
        if stripe % _STRIPES_PER_BLOCK == _STRIPES_PER_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, size - _STRIPE, len(_SECRET) - _STRIPE - 7)
    h = size * _P64[0] & _M
    for index in range(0, 8, 2):
        at = 11 + 8 * index
        h += _fold(lanes[index] ^ _u64(_SECRET, at), lanes[index + 1] ^ _u64(_SECRET, at + 8))
    return _avalanche(h & _M)


def _accumulate(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    values: tuple[int, ...] = _LANES.unpack_from(data, at)
    keys: tuple[int, ...] = unpack_from("<8Q", _SECRET, secret)
    for index in range(8):
        mixed = values[index] ^ keys[index]
        lanes[index ^ 1] += values[index]
        lanes[index] = lanes[index] + (mixed & 0xFFFFFFFF) * (mixed >> 32) & _M
    for index in range(8):
        lanes[index] &= _M


def _scramble(lanes: list[int]) -> None:
    keys: tuple[int, ...] = unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE)
    for index in range(8):
        lanes[index] = ((lanes[index] ^ lanes[index] >> 47 ^ keys[index]) * _P32[0]) & _M
