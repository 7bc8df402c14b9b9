"""Measure the cost of validating a produced batch before it is written, with and without the crc32c package.

    python -m benchmarks.validation [--seconds 0.3]

Each row is one batch in a request frame, as in a Produce request, and covers the checks, the walk over its records, the
assignment of offsets and the update of the producer state. MB/s and microseconds are those of the best round. For
compressed batches, MB/s counts compressed bytes.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafkalet.broker.apis.produce_rules import check_produced, is_transactional
from kafkalet.protocol.records import batch as batch_module
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.crc32c import BACKEND, crc32c_pure
from kafkalet.storage.config import LogConfig
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.validation import validate
from kafkalet.storage.values import Origin

from .records import best

NOW = 1_600_000_000_000
CHANCE = random.Random(1)


def produced(total_bytes: int, size: Callable[[], int], codec: Codec = Codec.NONE, producer_id: int = -1) -> bytes:
    rows = []
    room = total_bytes
    while not rows or room > 0:
        value = CHANCE.randbytes(size()) if codec is Codec.NONE else b"some text " * (size() // 10)
        rows.append((NOW + len(rows) // 10, None, value, ()))
        room -= len(value) + 10
    epoch, sequence = (0, 0) if producer_id >= 0 else (-1, -1)
    return build_batch(
        numbered(rows), codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def around(size: int) -> Callable[[], int]:
    return lambda: CHANCE.randint(size // 2, size * 3 // 2)


BATCHES = {
    "1 MiB of 1 KiB": produced(1 << 20, lambda: 1024),
    "1 MiB of 512-1536 B": produced(1 << 20, around(1024)),
    "1 MiB of 100 B": produced(1 << 20, lambda: 100),
    "1 MiB of 50-150 B": produced(1 << 20, around(100)),
    "1 MiB of 1 KiB, gzip": produced(1 << 20, lambda: 1024, Codec.GZIP),
    "16 KiB of 1 KiB": produced(16 << 10, lambda: 1024),
    "16 KiB of 1 KiB, idempotent": produced(16 << 10, lambda: 1024, producer_id=7),
    "16 KiB of 100 B": produced(16 << 10, lambda: 100),
    "16 KiB of 50-150 B": produced(16 << 10, around(100)),
    "one of 100 B": produced(1, lambda: 100),
    "one of 100 B, idempotent": produced(1, lambda: 100, producer_id=7),
}


def append(data: bytes, config: LogConfig, states: ProducerStates) -> Callable[[], None]:
    """Return a function that validates and appends `data`; it can be called repeatedly."""
    frame = bytearray(bytes(40) + data)
    head = bytes(frame[40:101])

    def run() -> None:
        frame[40:101] = head
        records = memoryview(frame)[40:]
        is_transactional(records)
        check_produced(records, 9)
        accepted = validate(
            records, config, next_offset=1000, leader_epoch=3, origin=Origin.CLIENT, now_ms=NOW, partition="t-0"
        )
        states.commit(states.prepare(accepted.batches, Origin.CLIENT))
        states.truncate_fully_and_start_at(0)
        records.release()

    return run


@contextmanager
def pure_crc() -> Iterator[None]:
    native, batch_module.crc32c = batch_module.crc32c, crc32c_pure
    try:
        yield
    finally:
        batch_module.crc32c = native


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validation", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.3, help="seconds to spend on each figure")
    options = parser.parse_args(arguments)
    config = LogConfig(max_message_bytes=2 << 20)
    print(f"{'':<32}{BACKEND + ' crc':>24}{'pure crc':>24}{'LogAppendTime':>24}")
    with tempfile.TemporaryDirectory() as directory:
        states = ProducerStates(directory, Files(durable=False))
        for name, data in BATCHES.items():
            seconds = [best(append(data, config, states), options.seconds)]
            with pure_crc():
                seconds.append(best(append(data, config, states), options.seconds))
            stamped = config._replace(message_timestamp_type="LogAppendTime")
            seconds.append(best(append(data, stamped, states), options.seconds))
            columns = "".join(f"{len(data) / each / 1e6:>9,.0f} MB/s {each * 1e6:>7,.1f} us" for each in seconds)
            print(f"{name:<32}{columns}", flush=True)


if __name__ == "__main__":
    main()
