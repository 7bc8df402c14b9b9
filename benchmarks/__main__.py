"""`make bench`: compare kafkalet with Apache Kafka 3.9 in one run; each figure is the median of five.

    python -m benchmarks [ROW ...] [--runs 5] [--seconds 1] [--alone] [--gib 0.25]

Apache Kafka is started as in the oracle tests (`make oracle`; needs Java and Maven). If it is not available, or with
--alone, only kafkalet is measured and the table says so. Brokers and load generators share this machine, so compare the
ratios rather than the absolute figures.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from . import brokers, compaction, coordination, kit, load, lookup, records, scale, security, startup, validation, waits
from .pipeline.__main__ import main as pipeline

ROWS = {**load.ROWS, **coordination.ROWS}


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--alone", action="store_true", help="do not measure Apache Kafka")
    parser.add_argument("--gib", type=float, default=0.25, help="size of each log that Spark reads and loads")
    options = parser.parse_args()
    wanted = [row for row in ROWS if not options.rows or any(part in row for part in options.rows)]
    with running(options.alone) as started:
        print(f"{'':<52}" + "".join(f"{name:>14}" for name in started), flush=True)
        if not options.rows:
            show("start, process to first answer", "ms", {name: broker.start_ms for name, broker in started.items()})
            show("memory, idle", "MiB", {name: broker.memory_mib() for name, broker in started.items()})
        for broker in started.values():
            brokers.make_topics(broker)
            brokers.fill(broker, 64 << 20)  # also warms up the JVM
        for row in wanted:
            figures = {name: [] for name in started}  # type: dict[str, list[float]]
            for _ in range(options.runs):
                for name, broker in started.items():
                    host, _, port = broker.address.rpartition(":")
                    figures[name].append(ROWS[row][1]((host, int(port)), options.seconds))
            show(row, ROWS[row][0], {name: median(values) for name, values in figures.items()})
        if not options.rows:
            for broker in started.values():
                brokers.fill(broker, 1 << 30)
            show("memory after another 1 GiB", "MiB", {name: broker.memory_mib() for name, broker in started.items()})
    if not options.rows:
        startup.main(options.runs)
        waits.main(["--alone"] if options.alone else [])
        kit.main([])
        lookup.main()
        records.main([])
        validation.main([])
        compaction.main()
        scale.main([])
        security.main(["--alone"] if options.alone else [])
        pipeline(["--gib", str(options.gib), *(["--alone"] if options.alone else [])])


if __name__ == "__main__":
    main()
