"""Compare the consumption of a topic by share groups (KIP-932): kafkalet, kfake and Apache Kafka 4.4.

    python -m benchmarks.shares [ROW ...] [--runs 5] [--mib 64] [--without kfake ...]

Each share group has one member. Like KafkaShareConsumer, the member fetches at most 500 records and accepts them in its
next request (benchmarks/peers/rawload/share.go). The brokers run at the same time, and one at a time is under load. The
first run of a row is not counted. A figure is the median of the others, with the least and the most in brackets, then
the processor time of the broker in microseconds per record.
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import nan
from pathlib import Path

from . import brokers
from .brokers import Running
from .peers.__main__ import BARE, PEERS, Table
from .peers.programs import program
from .peers.rows import Figure, rawload

RECORD_BYTES = 1024
ROWS = {
    "one group, batches of 16 KiB": ("16-kib", 15, 1),
    "four groups, batches of 16 KiB": ("16-kib", 15, 4),
    "four groups, batches of 1 MB": ("1-mb", 960, 4),
}
"""Topics, records in each batch, and groups."""


@contextmanager
def running(without: list[str]) -> Iterator[dict[str, Running]]:
    """Start the brokers to compare, and yield them by name."""
    started: dict[str, Running] = {}
    with ExitStack() as stack:
        started["kafkalet"] = brokers.start_kafkalet(python=BARE)
        stack.callback(started["kafkalet"].stop)
        if "kfake" not in without and (kfake := program("kfake")) is not None:
            started["kfake"] = brokers.start_kfake(kfake)
            stack.callback(started["kfake"].stop)
        if "kafka" not in without and (kafka := brokers.start_kafka("1g", "4.4")) is not None:
            started["Kafka 4.4"] = kafka
            stack.callback(kafka.stop)
        yield started


def consume(load: Path, broker: Running, topic: str, groups: int, records: int) -> Figure:
    shape = ("-topic", topic, "-conns", groups, "-records", records, "-timeout", "60s", "-pid", broker.pid)
    report = rawload(load, "share", broker, *shape)
    return Figure(report.get("requests_s", nan), report.get("broker_cpu_us_per_request", nan))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shares", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mib", type=int, default=64, help="size of each topic (default: %(default)s)")
    parser.add_argument("--without", action="append", choices=PEERS, default=[], help="leave out another broker")
    options = parser.parse_args(arguments)
    load = program("rawload")
    if load is None:
        return
    with running(options.without) as started:
        table = Table(started)
        filled: set[str] = set()
        for name, (topic, per_batch, groups) in ROWS.items():
            if options.rows and not any(part in name for part in options.rows):
                continue
            batches = (options.mib << 20) // (RECORD_BYTES * per_batch)
            records = batches * per_batch
            if topic not in filled:
                filled.add(topic)
                for broker in started.values():
                    shape = ("-batches", batches, "-per-batch", per_batch, "-size", RECORD_BYTES)
                    rawload(load, "prepare", broker, "-topic", topic, *shape)
            figures: dict[str, list[Figure]] = {peer: [] for peer in started}
            for run in range(options.runs + 1):
                for peer, broker in started.items():
                    figure = consume(load, broker, topic, groups, records)
                    if run:
                        figures[peer].append(figure)
            table.add(name, "records/s", "µs", figures)


if __name__ == "__main__":
    main()
