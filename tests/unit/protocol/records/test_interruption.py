"""Long computations end when they are interrupted: codecs between two blocks, readers between records."""

import zlib
from collections.abc import Callable
from threading import Event, Thread

import pytest

from kafkalet.protocol.records import lz4, snappy, streams, zstd, zstd_frames
from kafkalet.protocol.records.codecs import Codec, decompress
from kafkalet.protocol.records.interruption import Interrupted, check, interruptible, use_much_memory
from kafkalet.protocol.records.record import Record, decode_records, encode_records, iterate_records
from kafkalet.protocol.records.varint import encode_unsigned
from kafkalet.protocol.records.walk import walk_records
from kafkalet.protocol.records.xxh64 import xxh64

BLOCK = 64 * 1024


def checks(computation: Callable[[], object]) -> int:
    """Return how often a computation checks whether it is interrupted."""
    calls = 0

    def is_interrupted() -> bool:
        nonlocal calls
        calls += 1
        return False

    interruptible(computation, is_interrupted)
    return calls


def test_check_raises_only_if_interrupted() -> None:
    check()
    interruptible(check, lambda: False)
    with pytest.raises(Interrupted):
        interruptible(check, lambda: True)
    check()


def test_only_one_computation_uses_much_memory() -> None:
    begun, may_end = Event(), Event()

    def first() -> None:
        use_much_memory()
        begun.set()
        may_end.wait(10)

    thread = Thread(target=lambda: interruptible(first, lambda: False))
    thread.start()
    assert begun.wait(10)
    with pytest.raises(Interrupted):  # while it waits
        interruptible(use_much_memory, lambda: True)
    use_much_memory()  # does not wait outside of an interruptible computation
    may_end.set()
    thread.join(10)
    interruptible(use_much_memory, lambda: True)


def test_inner_computation_ends_on_its_own_condition() -> None:
    def outer() -> str:
        with pytest.raises(Interrupted):
            interruptible(check, lambda: True)
        check()
        return "goes on"

    assert interruptible(outer, lambda: False) == "goes on"


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lz4, snappy, streams, zstd):
        monkeypatch.setattr(module, "cramjam_or_none", lambda: None)
    monkeypatch.setattr(zstd, "library_or_none", lambda: None)


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (Codec.ZSTD, zstd_frames.compress(bytes(20 * 128 * 1024))),
        (Codec.LZ4, lz4.compress(bytes(20 * BLOCK))),
        (Codec.SNAPPY, encode_unsigned(20 * BLOCK) + (b"\xf4\xff\xff" + bytes(BLOCK)) * 20),
    ],
)
def test_codec_checks_at_each_block(codec: Codec, data: bytes) -> None:
    assert checks(lambda: decompress(codec, data)) >= 20


def test_gzip_checks_at_each_window() -> None:
    data = b"".join(index.to_bytes(4, "big") for index in range(1 << 17))
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = packer.compress(data) + packer.flush()
    assert checks(lambda: decompress(Codec.GZIP, packed)) >= len(packed) // BLOCK > 1


def test_checksum_of_zstd_checks_at_each_part() -> None:
    assert checks(lambda: xxh64(bytes(1 << 20))) >= 8


ROWS = [Record(index, index * 7919 % 1009, b"k" * (index % 7), b"v") for index in range(20_000)]
RECORDS = encode_records(ROWS, 0, 0)


def test_readers_check_every_few_thousand_records() -> None:
    assert checks(lambda: walk_records(RECORDS, 0, len(RECORDS), 20_000, 0)) >= 2
    assert checks(lambda: walk_records(RECORDS, 0, len(RECORDS), 20_000, 1 << 62)) >= 5  # by the exact reader
    assert checks(lambda: decode_records(RECORDS, 20_000, 0, 0)) >= 2
    assert checks(lambda: list(iterate_records(RECORDS, 20_000, 0, 0))) >= 20


def test_readers_check_between_the_headers_of_a_record() -> None:
    many = encode_records([Record(0, 0, None, None, (("h", None),) * 100_000)], 0, 0)
    assert checks(lambda: walk_records(many, 0, len(many), 1, 0)) >= 20
    assert checks(lambda: decode_records(many, 1, 0, 0)) >= 20


def test_short_batch_is_read_without_a_check() -> None:
    payload = encode_records([Record(0, 0, b"k", b"v")], 0, 0)
    assert checks(lambda: walk_records(payload, 0, len(payload), 1, 0)) == 0
