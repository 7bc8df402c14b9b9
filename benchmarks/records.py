"""Compare decoding, walking, encoding and checksums of records with aiokafka and kafka-python in the same run.

    python -m benchmarks.records [--seconds 0.3] [--json]

Each figure is the best of several rounds. aiokafka decodes and encodes in C; figures for its Python fallback are
labelled "(Python)". kafka-python is pure Python. Operations that a library does not have are left empty.
"""

import argparse
import json
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

from kafkalet.protocol.records.batch import HEADER_SIZE, Batch, TimestampType, set_max_timestamp
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.crc32c import BACKEND, crc32c, crc32c_pure, crc32c_table
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.protocol.records.walk import WalkResult, walk_records

NOW = 1_600_000_000_000


def best(work: Callable[[], object], seconds: float) -> float:
    """Run `work` repeatedly for `seconds` and return the shortest time of a run, in seconds."""
    fastest, end = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def batches() -> dict[str, list[Record]]:
    chance = random.Random(1)

    def rows(count: int, size: Callable[[], int], key: bytes | None, step: float, headers: Any = ()) -> list[Record]:
        return numbered((NOW + int(i * step), key, chance.randbytes(size()), headers) for i in range(count))

    two_headers = (("trace", b"0123456789abcdef"), ("kind", b"x"))
    return {
        "1000 x 100 B, key": rows(1000, lambda: 100, b"0123456789", 0.1),
        "1000 x 50-150 B, key": rows(1000, lambda: chance.randint(50, 150), b"0123456789", 0.1),
        "1000 x 1 KiB": rows(1000, lambda: 1024, None, 0.1),
        "1000 x 1 KiB, 50 ms apart": rows(1000, lambda: 1024, None, 50),
        "1000 x 512-1536 B": rows(1000, lambda: chance.randint(512, 1536), None, 0.1),
        "1000 x 100 B, 2 headers": rows(1000, lambda: 100, b"key", 0.1, two_headers),
        "10 x 100 B": rows(10, lambda: 100, b"key", 0.1),
        "1 x 100 B": rows(1, lambda: 100, b"key", 0.1),
    }


def aiokafka_decode(data: bytes, kind: type) -> Callable[[], object]:
    buffer = bytearray(data)
    return lambda: [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in kind(buffer)]


def builder(kind: type, records: list[Record]) -> Callable[[], object]:
    rows = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in records]

    def build() -> object:
        batch = kind(2, 0, 0, -1, -1, -1, 1 << 26)
        for offset, timestamp, key, value, headers in rows:
            batch.append(offset, timestamp, key, value, headers)
        return batch.build()

    return build


def client_libraries() -> dict[str, tuple[type, type]]:
    """Return the batch readers and builders of the installed client libraries, by name."""
    found: dict[str, tuple[type, type]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from aiokafka.record import default_records as a

            found["aiokafka"] = a.DefaultRecordBatch, a.DefaultRecordBatchBuilder
            found["(Python)"] = a._DefaultRecordBatchPy, a._DefaultRecordBatchBuilderPy
            from kafka.record import default_records as k

            found["kafka-python"] = k.DefaultRecordBatch, k.DefaultRecordBatchBuilder
        except ImportError:
            pass
    return found


def walk_batch(batch: Batch) -> WalkResult:
    return walk_records(batch.buffer, batch.position + HEADER_SIZE, batch.end, batch.count, batch.base_timestamp)


def measure_records(seconds: float) -> list[dict[str, Any]]:
    """Measure nanoseconds per record for each kind of batch."""
    rows = []
    for name, records in batches().items():
        data = build_batch(records)
        batch = Batch(bytearray(data))
        count = len(records)

        def ns(work: Callable[[], object], count: int = count) -> int:
            return round(best(work, seconds) / count * 1e9)

        row = {
            "batch": name,
            "walk": ns(lambda batch=batch: walk_batch(batch)),
            "decode": ns(lambda data=data: Batch(data).records()),
            "encode": ns(lambda records=records: encode_records(records, 0, NOW)),
        }
        for other, (reader, writer) in client_libraries().items():
            row[f"{other} decode"] = ns(aiokafka_decode(data, reader))
            row[f"{other} encode"] = ns(builder(writer, records))
        rows.append(row)
    return rows


def measure_checksums(seconds: float) -> list[dict[str, Any]]:
    """Measure checksums in MB/s, and the time to change a batch's timestamps in microseconds, by size."""
    rows = []
    for size in (100, 1024, 16 << 10, 64 << 10, 1 << 20, 8 << 20):
        data = random.Random(size).randbytes(size)
        row: dict[str, Any] = {"bytes": size}
        for name, function in (("pure", crc32c_pure), ("table", crc32c_table), (BACKEND, crc32c)):
            if name == "table" and size > 1 << 20:
                continue
            row[name] = round(size / best(lambda function=function, data=data: function(data), seconds) / 1e6)
        batch = bytearray(build_batch([Record(0, NOW, None, data)]))
        times = iter(range(1 << 60))
        row["patch us"] = round(
            best(
                lambda batch=batch, times=times: set_max_timestamp(
                    batch, 0, TimestampType.LOG_APPEND_TIME, next(times)
                ),
                seconds,
            )
            * 1e6,
            1,
        )
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    widths = [max(len(name), *(len(str(row.get(name, ""))) for row in rows)) for name in names]
    print("  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True)))
    for row in rows:
        print("  ".join(str(row.get(name, "")).rjust(width) for name, width in zip(names, widths, strict=True)))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.3, help="seconds to spend on each figure")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args(arguments)
    for title, measured in (
        ("Records, ns each", measure_records(options.seconds)),
        ("CRC-32C, MB/s", measure_checksums(options.seconds)),
    ):
        if options.json:
            for row in measured:
                print(json.dumps({"what": title} | row))
        else:
            print(f"\n{title}")
            show(measured)


if __name__ == "__main__":
    main()
