"""Compare kafkalet with kfake and Apache Kafka 3.9: `make bench ARGS=peers`, or

    python -m benchmarks.peers [ROW ...] [--runs 3] [--seconds 2] [--mib 256] [--without kfake ...] [--json FILE]
                               [--project DIR ...] [--python PYTHON] [--installed PYTHON ...]

The brokers run at the same time, and one at a time is under load: each row alternates between them. A figure is the
median of the runs, with the least and the most in brackets, then the processor time of the broker: microseconds per
request, or seconds per GB. It depends less on other work on the machine. The table is Markdown.

kafkalet runs in a Python with nothing installed. To compare versions of it in the same run, give the directories of
several clones, or several Pythons in which a version is installed (such as a compiled wheel):

    git worktree add ../before COMMIT
    make bench ARGS='peers --project . --project ../before'
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import brokers
from benchmarks.brokers import Running

from .programs import program
from .rows import ROWS, Figure, Load, Row

BARE = [str(getattr(sys, "_base_executable", sys.executable)), "-S"]
"""A Python without site-packages."""
PEERS = ("kfake", "kafka")


@contextmanager
def running(options: argparse.Namespace) -> Iterator[dict[str, Running]]:
    """Start the brokers to compare, and yield them by name."""
    started: dict[str, Running] = {}
    with ExitStack() as stack:

        def add(name: str, broker: Running) -> None:
            started[name] = broker
            stack.callback(broker.stop)

        python = [options.python] if options.python else BARE
        projects = options.project or ([] if options.installed else [str(brokers.ROOT)])
        for project in projects:
            path = Path(project).resolve()
            name = "kafkalet" if path == brokers.ROOT or len(projects) == 1 else f"kafkalet {path.name}"
            add(name, brokers.start_kafkalet(python=python, directory=project))
        outside = stack.enter_context(tempfile.TemporaryDirectory())  # without sources
        for installed in options.installed:
            add(f"kafkalet of {installed}", brokers.start_kafkalet(python=[installed], directory=outside))
        if "kfake" not in options.without and (kfake := program("kfake")) is not None:
            add("kfake", brokers.start_kfake(kfake))
        if "kafka" not in options.without and (kafka := brokers.start_kafka(heap="1g")) is not None:
            add("Kafka 3.9", kafka)
        yield started


def describe_machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = [round(each, 2) for each in os.getloadavg()]
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(), "load_average": load}


def number(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def known(value: float) -> float | None:
    """Return a figure for JSON, which does not contain NaN."""
    return None if isnan(value) else value


def cell(figures: list[Figure], unit: str) -> str:
    rates = [figure.rate for figure in figures if not isnan(figure.rate)]
    if not rates:
        return "-"
    text = number(median(rates))
    if len(rates) > 1:
        text += f" [{number(min(rates))}-{number(max(rates))}]"
    times = [figure.processor_time for figure in figures if not isnan(figure.processor_time)]
    return f"{text} {number(median(times))} {unit}" if times and unit else text


def show(name: str, cells: list[str]) -> None:
    print(f"| {name:<53} | " + " | ".join(f"{each:>36}" for each in cells) + " |", flush=True)


class Table:
    """Prints each row as soon as it is measured, and keeps the figures."""

    def __init__(self, started: dict[str, Running]) -> None:
        self.started = started
        self.rows: dict[str, Any] = {}
        show("", list(started))
        print("| --- |" + " ---: |" * len(started))

    def add(self, name: str, unit: str, processor_unit: str, figures: dict[str, list[Figure]]) -> None:
        show(f"{name}, {unit}", [cell(each, processor_unit) for each in figures.values()])
        self.rows[name] = {
            "unit": unit,
            "processor_unit": processor_unit,
            "rates": {broker: [known(figure.rate) for figure in each] for broker, each in figures.items()},
            "processor_times": {
                broker: [known(figure.processor_time) for figure in each] for broker, each in figures.items()
            },
        }

    def add_memory(self, name: str) -> None:
        memory = {each: [Figure(broker.memory_mib(), nan)] for each, broker in self.started.items()}
        self.add(name, "MiB", "", memory)

    def measure(self, row: Row, load: Load, runs: int) -> None:
        """Measure a row. The first run does not count: it lets the JVM compile what the row needs."""
        figures: dict[str, list[Figure]] = {name: [] for name in self.started}
        for run in range(runs + 1):
            for name, broker in self.started.items():
                figure = row.measure(broker, load, run)
                if run:
                    figures[name].append(figure)
        self.add(row.name, row.unit, row.processor_unit, figures)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row of requests (default: %(default)s)")
    parser.add_argument("--mib", type=int, default=256, help="to produce and consume (default: %(default)s)")
    parser.add_argument("--without", action="append", choices=PEERS, default=[], help="leave out another broker")
    parser.add_argument("--python", help="the Python that runs kafkalet (default: one with nothing installed)")
    parser.add_argument(
        "--project", action="append", default=[], metavar="DIR", help="clones of kafkalet (default: this one)"
    )
    parser.add_argument("--installed", action="append", default=[], metavar="PYTHON", help="with a kafkalet installed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    options = parser.parse_args(arguments)
    load = Load(program("rawload"), program("transfer"), options.seconds, options.mib)
    wanted = [row for row in ROWS if not options.rows or any(part in row.name for part in options.rows)]
    machine = describe_machine()
    load_average = machine["load_average"][0]
    print(f"{machine['processor']}, {machine['cores']} cores, load average {load_average}; {options.runs} runs\n")
    with running(options) as started:
        table = Table(started)
        with_memory = not options.rows or "memory" in options.rows
        if with_memory:
            table.add_memory("memory, idle")
        for broker in started.values():
            load.prepare(broker)
        for row in wanted:
            if load.can_measure(row):
                table.measure(row, load, options.runs)
        if with_memory:
            table.add_memory("memory at the end")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": table.rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
