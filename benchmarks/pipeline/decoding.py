"""Measure the steps that turn chunks of a log into columns: walking batches, checking checksums, decoding records.

    python -m benchmarks.pipeline.decoding [--seconds 0.5] [--mib 8] [--only TEXT]

Runs on one core and measures processor time. Each figure is the best of several rounds over one chunk of about `--mib`
MiB (uncompressed). Records have a key of ten bytes (or none), and their timestamps are a tenth of a millisecond apart.
The column "decode" covers offset, timestamp, key and value; "all" also includes walking the batches and checking their
checksums. MB/s counts uncompressed bytes.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Headers, Record
from kafkalet_spark.decoding.batches import walk, wrong_checksums
from kafkalet_spark.decoding.records import decode_all

NOW = 1_600_000_000_000
COLUMNS = ("key", "value")


class Case(NamedTuple):
    name: str
    sizes: tuple[int, int]
    key: bytes | None = b"0123456789"
    headers: Headers = ()
    codec: Codec = Codec.NONE
    counts: tuple[int, ...] = (1, 10, 100, 1000, 10_000)


TWO_HEADERS: Headers = (("trace", b"0123456789abcdef"), ("kind", b"x"))
CASES = (
    Case("100 B", (100, 100)),
    Case("50-150 B", (50, 150)),
    Case("100 B, null key", (100, 100), None),
    Case("1 KiB", (1024, 1024)),
    Case("512-1536 B", (512, 1536)),
    Case("50-150 B, 2 headers", (50, 150), headers=TWO_HEADERS, counts=(100, 1000)),
    Case("50-150 B, a tenth > 8 KiB", (50, 150), counts=(100, 1000)),
    Case("50-150 B, lz4", (50, 150), codec=Codec.LZ4),
    Case("50-150 B, zstd", (50, 150), codec=Codec.ZSTD),
)


def chunk(case: Case, count: int, size: int) -> tuple[bytes, int, int]:
    """Build about `size` bytes of batches of `count` records; return them, the number of records and the uncompressed
    size.
    """
    chance = random.Random(1)
    words = [chance.randbytes(5).hex().encode() for _ in range(500)]
    text = b" ".join(chance.choice(words) for _ in range(5000))
    large = "8 KiB" in case.name

    def value() -> bytes:
        length = chance.randint(*case.sizes)
        if large and chance.random() < 0.1:
            length = 9000
        start = chance.randrange(len(text) - length)
        return text[start : start + length]

    average = 900 if large else sum(case.sizes) // 2
    batches = max(1, size // (count * average))
    pieces, offset, decompressed = [], 0, 0
    for _ in range(batches):
        rows = [Record(offset + i, NOW + (offset + i) // 10, case.key, value(), case.headers) for i in range(count)]
        pieces.append(build_batch(rows, base_offset=offset, codec=case.codec))
        decompressed += len(pieces[-1]) if case.codec is Codec.NONE else len(build_batch(rows, base_offset=offset))
        offset += count
    return b"".join(pieces), offset, decompressed


def best(work: Callable[[], object], seconds: float) -> float:
    """Run `work` repeatedly for `seconds` and return the shortest processor time of a run, in seconds."""
    work()  # the first run imports modules
    fastest, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - start)
    return fastest


def measured(data: bytes, records: int, seconds: float) -> Iterator[float]:
    batches, _ = walk(data)
    want = (*COLUMNS, "headers") if b"trace" in data[:500] else COLUMNS

    def decode() -> None:
        for _ in decode_all(data, batches, want):
            pass

    def everything() -> None:
        found, _ = walk(data)
        assert wrong_checksums(data, found).size == 0
        decode()

    steps: list[Callable[[], object]] = [lambda: walk(data), lambda: wrong_checksums(data, batches), decode, everything]
    for step in steps:
        yield best(step, seconds) / records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--mib", type=int, default=8)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("ns/record" + " " * 25 + "records    walk     crc  decode     all  Mrec/s   MB/s")
    for case in CASES:
        if arguments.only not in case.name:
            continue
        for count in case.counts:
            data, records, size = chunk(case, count, arguments.mib << 20)
            walk_, crc, decode, all_ = measured(data, records, arguments.seconds)
            speed = f"{1e-6 / all_:>8.1f}{size / records / all_ / 1e6:>7.0f}"
            costs = "".join(f"{cost * 1e9:>8.0f}" for cost in (walk_, crc, decode, all_))
            print(f"{case.name:26} x {count:<6}{records:>7}{costs}{speed}", flush=True)


if __name__ == "__main__":
    main()
