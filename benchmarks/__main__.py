"""`make bench`: compare kafkalet with Apache Kafka 3.9 in one run; each figure is the median of five.

    python -m benchmarks [ROW ...] [--runs 5] [--seconds 1] [--alone] [--gib 0.25]
    python -m benchmarks peers [...]
    python -m benchmarks growth [...]

The second command measures only the first table, which also contains kfake; peers/__main__.py has its options. The
third one measures only how costs grow; growth.py has its options, one of which draws the plots.

Apache Kafka is started as in the oracle tests (`make oracle`; needs Java and Maven). If it is not available, or with
--alone, only kafkalet is measured and the table says so. Brokers and load generators share this machine, so compare the
ratios rather than the absolute figures.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from . import (
    brokers,
    compaction,
    coordination,
    growth,
    kit,
    records,
    scale,
    security,
    shares,
    startup,
    validation,
    waits,
)
from .peers import __main__ as peers
from .pipeline.__main__ import main as pipeline

ROWS = coordination.ROWS


@contextmanager
def running(alone: bool) -> Iterator[dict[str, brokers.Running]]:
    """Start the brokers to measure and yield them by name."""
    started: dict[str, brokers.Running] = {}
    try:
        started["kafkalet"] = brokers.start_kafkalet()
        if not alone and (kafka := brokers.start_kafka()) is not None:
            started["Kafka 3.9"] = kafka
        yield started
    finally:
        for broker in started.values():
            broker.stop()


def show(row: str, unit: str, figures: dict[str, float]) -> None:
    columns = "".join(f"{figure:>14,.1f}" if figure < 100 else f"{figure:>14,.0f}" for figure in figures.values())
    print(f"{row:<40}{unit:<12}{columns}", flush=True)


def measure(rows: list[str], options: argparse.Namespace) -> None:
    """Measure the coordinators."""
    with running(options.alone) as started:
        print(f"\n{'':<52}" + "".join(f"{name:>14}" for name in started), flush=True)
        if not options.rows:
            show("start, process to first answer", "ms", {name: broker.start_ms for name, broker in started.items()})
        for broker in started.values():
            brokers.make_topics(broker)
            brokers.fill(broker, 64 << 20)  # warms up the JVM
        for row in rows:
            figures: dict[str, list[float]] = {name: [] for name in started}
            for _ in range(options.runs):
                for name, broker in started.items():
                    host, _, port = broker.address.rpartition(":")
                    figures[name].append(ROWS[row][1]((host, int(port)), options.seconds))
            show(row, ROWS[row][0], {name: median(values) for name, values in figures.items()})


def main() -> None:
    if sys.argv[1:2] == ["peers"]:
        peers.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["growth"]:
        growth.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--alone", action="store_true", help="do not measure Apache Kafka")
    parser.add_argument("--gib", type=float, default=0.25, help="size of each log that Spark reads and loads")
    options = parser.parse_args()
    if not options.rows or any(part in row.name for part in options.rows for row in peers.ROWS):
        without = [f"--without={peer}" for peer in peers.PEERS] if options.alone else []
        peers.main([*options.rows, f"--runs={options.runs}", f"--seconds={options.seconds}", *without])
    if wanted := [row for row in ROWS if not options.rows or any(part in row for part in options.rows)]:
        measure(wanted, options)
    if not options.rows:
        shares.main([f"--without={peer}" for peer in peers.PEERS] if options.alone else [])
        startup.main(options.runs)
        waits.main(["--alone"] if options.alone else [])
        kit.main([])
        records.main([])
        validation.main([])
        compaction.main()
        scale.main([])
        growth.main([])
        security.main(["--alone"] if options.alone else [])
        pipeline(["--gib", str(options.gib), *(["--alone"] if options.alone else [])])


if __name__ == "__main__":
    main()
