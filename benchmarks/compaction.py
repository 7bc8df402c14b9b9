"""Compaction: how fast a log is cleaned, and for how long the event loop is blocked when segments are replaced.

    python -m benchmarks.compaction [--mib 128]

Every second record is the newest of its key. Apache Kafka logs the corresponding figure after each round ("MB of log
processed in ... seconds"); it reads and writes the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import kafkalet
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.log import Log

RECORDS_PER_BATCH = 100
MIB = 1 << 20

T = TypeVar("T")


def _fill(log: Log, size_bytes: int, value_bytes: int, codec: Codec) -> None:
    value = bytes(index * 7 % 251 for index in range(value_bytes))
    number = 0
    written = 0
    while written < size_bytes:
        records = []
        for offset in range(RECORDS_PER_BATCH):
            records.append(Record(offset, 1_700_000_000_000 + number, b"key-%012d" % (number // 2), value, ()))
            number += 1
        log.append_as_leader(bytearray(build_batch(records, codec=codec)), 0)
        written += RECORDS_PER_BATCH * (value_bytes + 24)
    log.roll()
    log.maybe_increment_high_watermark(log.log_end_offset)


def measure(mib: int, value_bytes: int, codec: Codec) -> tuple[float, float]:
    """Return MB of records per second, and the longest time for which the event loop was blocked, in ms."""
    with tempfile.TemporaryDirectory() as directory, kafkalet.Broker(data_dir=directory) as broker:
        config = {"cleanup.policy": "compact", "max.message.bytes": 10 * MIB, "segment.bytes": 16 * MIB}
        broker.topic("t", 1, config)
        log = broker.topic("t").log()._log
        broker._server.call(lambda: _fill(log, mib * MIB, value_bytes, codec))
        blocked_s: list[float] = []
        call = broker._server.call

        def timed(function: Callable[[], T]) -> T:
            def run() -> T:
                began_s = perf_counter()
                try:
                    return function()
                finally:
                    blocked_s.append(perf_counter() - began_s)

            return call(run)

        broker._server.call = timed  # type: ignore[method-assign]
        began_s = perf_counter()
        (cleaned,) = broker.run_cleaner()
        took_s = perf_counter() - began_s
        broker._server.call = call  # type: ignore[method-assign]
        assert cleaned.records_after * 2 == cleaned.records_before
        return mib * MIB / took_s / 1e6, max(blocked_s) * 1000


def main(mib: int = 64) -> None:
    for name, value_bytes, codec in (
        ("compaction, values of 100 bytes", 100, Codec.NONE),
        ("compaction, values of 1 KiB", 1024, Codec.NONE),
        ("compaction, values of 1 KiB, gzip", 1024, Codec.GZIP),
    ):
        rate, blocked_ms = measure(mib, value_bytes, codec)
        print(f"{name:<40}{'MB/s':<12}{rate:>14.1f}", flush=True)
        print(f"{'  longest turn of the event loop':<40}{'ms':<12}{blocked_ms:>14.1f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=64, help="size of the records of each log")
    main(parser.parse_args().mib)
