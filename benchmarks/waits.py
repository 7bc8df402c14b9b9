"""How long users wait: for a broker, its first record, new topics, groups, transactions, and for closing.

    python -m benchmarks.waits [PART ...] [--alone] [--runs 3]

Each run starts kafkalet in memory, kafkalet with a data directory and Apache Kafka 3.9, each of them twice: one broker
serves client libraries first, the other one the same steps as raw requests (by_hand.py). The figures are medians in
milliseconds. The last column is the client's part with kafkalet in memory: how much longer it takes than raw requests,
because it waits or computes.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from . import brokers, by_hand, clients
from .brokers import Running
from .by_hand import since_ms
from .coordination import WIDE, WIDE_TOPIC
from .fairness import probe

Address = tuple[str, int]
Figures = dict[str, float]
Part = Callable[[Running], Figures]

BY_HAND = ", by hand"
"""The end of the names of rows that are measured with raw requests."""
COUNTS = (1, 100, 1000)
FIRST_GROUP = "first group of a broker, to first record"
READ_BACK = "process start to first record read back"
STEPS = {
    "first record": "first poll to first record",
    "commit": "commit",
    "close": "close of a member",
    "close of a producer": "close of a producer",
}
REBALANCES = {
    "second joins": "second member joins, until both have partitions",
    "second leaves": "second member closes, until the first has all",
}


def address(broker: Running) -> Address:
    host, _, port = broker.address.rpartition(":")
    return host, int(port)


def _by_hand(figures: Figures) -> Figures:
    return {row + BY_HAND: figure for row, figure in figures.items()}


def pair(row: str, rows: Sequence[str]) -> str | None:
    """Return the row of raw requests for a row of a client, or None if there is none."""
    candidates = (row + BY_HAND, row.rpartition(", ")[0] + BY_HAND)
    return None if row.endswith(BY_HAND) else next((each for each in candidates if each in rows), None)


# The parts


def starting(broker: Running) -> Figures:
    import confluent_kafka  # noqa: F401 - its import is not part of the wait

    read_back_ms = clients.record_read_back(broker.address, "waits-first")
    return {"process start to first response": broker.start_ms, READ_BACK: broker.start_ms + read_back_ms}


def starting_by_hand(broker: Running) -> Figures:
    return _by_hand({READ_BACK: broker.start_ms + by_hand.record_read_back(address(broker), "waits-first")})


def first_group(broker: Running) -> Figures:
    by_hand.record_read_back(address(broker), "waits-group")
    return {FIRST_GROUP: clients.confluent(broker.address, "waits-group", "waits-first")["first record"]}


def first_group_by_hand(broker: Running) -> Figures:
    by_hand.record_read_back(address(broker), "waits-group")
    return _by_hand({FIRST_GROUP: by_hand.group_steps(address(broker), "waits-first", "waits-group")["first record"]})


def transactions(broker: Running) -> Figures:
    by_hand.topics_created(address(broker), ["waits-transactions"])
    return clients.transactions(broker.address, "waits-transactions", "waits")


def transactions_by_hand(broker: Running) -> Figures:
    by_hand.topics_created(address(broker), [WIDE_TOPIC], WIDE)
    return _by_hand(by_hand.transactions(address(broker), "waits"))


def groups(broker: Running) -> Figures:
    """Measure the steps of a member and of a producer in all client libraries, after a first round that warms up."""
    topic, figures = "waits-groups", Figures()
    by_hand.record_read_back(address(broker), topic)
    for is_warm in (False, True):
        found = {"by hand": by_hand.group_steps(address(broker), f"by-hand-{is_warm}", topic)}
        for name, steps in clients.libraries().items():
            if is_warm or name in clients.IN_PROCESS:  # the programs have their own first round
                found[name] = steps(broker.address, topic, f"{name}-{is_warm}".replace(" ", "-"))
        for step, row in STEPS.items():
            figures |= {f"{row}, {name}": steps[step] for name, steps in found.items() if step in steps}
    return figures


def rebalances(broker: Running) -> Figures:
    by_hand.topics_created(address(broker), ["waits-pair"], clients.PARTITIONS)
    found = clients.rebalances(broker.address, "waits-pair", "waits-pair")
    raw = by_hand.rebalances(address(broker), "waits-pair-by-hand", "waits-pair")
    figures = {row: found[step] for step, row in REBALANCES.items()}
    return figures | _by_hand({row: raw[step] for step, row in REBALANCES.items()})


def topics(broker: Running) -> Figures:
    figures = Figures()
    for count in COUNTS:
        row = "create 1 topic" if count == 1 else f"create {count:,} topics"
        names = [f"waits-{count}-{number}" for number in range(count)]

        def create(row: str = row, names: list[str] = names) -> None:
            figures[row] = clients.topics_created(broker.address, names)

        thread = threading.Thread(target=create)
        thread.start()
        others_ms = list(
            probe(
                address(broker),
                lambda thread=thread: not thread.is_alive(),  # type: ignore[misc]
            )
        )
        thread.join()
        figures[row + BY_HAND] = by_hand.topics_created(address(broker), [f"{name}-by-hand" for name in names])
        figures[f"{row}: longest wait of another client"] = max(others_ms)
    return figures


def stopping(broker: Running) -> Figures:
    begun_s = time.perf_counter()
    if not hasattr(os, "pidfd_open"):
        broker.stop()
        return {"stop of the process": since_ms(begun_s)}
    descriptor = os.pidfd_open(broker.pid)
    os.kill(broker.pid, signal.SIGTERM)
    select.select([descriptor], [], [])  # Popen.wait with a timeout looks only every 50 ms
    figures = {"stop of the process": since_ms(begun_s)}
    os.close(descriptor)
    broker.stop()
    return figures


PARTS: dict[str, tuple[Sequence[Part], Sequence[Part]]] = {
    "start": ([starting], [starting_by_hand]),
    "groups": ([first_group, groups, rebalances], [first_group_by_hand]),
    "transactions": ([transactions], [transactions_by_hand]),
    "topics": ([topics], []),
}
"""The parts for the broker that serves client libraries first, and for the other one."""


def broker_in_process() -> Figures:
    """Measure `Broker()` in a new process. The second broker of the process counts; the first one loads modules."""
    script = """
import kafkalet, time
from benchmarks.by_hand import answered, since_ms
for attempt in range(2):
    begun_s = time.perf_counter()
    with kafkalet.Broker() as broker:
        answered(("127.0.0.1", broker.port))
        started_ms = since_ms(begun_s)
        begun_s = time.perf_counter()
    stopped_ms = since_ms(begun_s)
print(started_ms, stopped_ms)
"""
    started_ms, stopped_ms = subprocess.check_output(
        [sys.executable, "-c", script], text=True, cwd=brokers.ROOT
    ).split()
    return {"Broker() to first response": float(started_ms), "stop of a Broker()": float(stopped_ms)}


# The table


@contextmanager
def starts(alone: bool) -> Iterator[dict[str, Callable[[], Running | None]]]:
    """Yield the functions that start the brokers, by the names of the columns."""
    with tempfile.TemporaryDirectory() as directory:
        numbers = iter(range(1_000_000))
        found: dict[str, Callable[[], Running | None]] = {
            "kafkalet": brokers.start_kafkalet,
            "--data-dir": lambda: brokers.start_kafkalet(None, "--data-dir", str(Path(directory, str(next(numbers))))),
        }
        yield found if alone else found | {"Kafka 3.9": brokers.start_kafka}


def measure(start: Callable[[], Running | None], parts: Sequence[str], side: int) -> Figures:
    """Start a broker, run those parts with client libraries (side 0) or with raw requests (side 1), and stop it."""
    figures = Figures()
    wanted = [part for name in parts for part in PARTS[name][side]]
    if not wanted or (broker := start()) is None:
        return figures
    try:
        for part in wanted:
            figures |= part(broker)
    except BaseException:
        broker.stop()
        raise
    return figures | stopping(broker)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waits", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"out of: {', '.join(PARTS)}; the default is all")
    parser.add_argument("--alone", action="store_true", help="do not measure Apache Kafka")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    parts = options.parts or list(PARTS)
    sys.setswitchinterval(0.0002)  # so that the probe does not wait for the client in the other thread
    columns: dict[str, dict[str, list[float]]] = {}
    with starts(options.alone) as brokers_to_start:
        for _ in range(options.runs):
            for column, start in brokers_to_start.items():
                figures = measure(start, parts, 0) | measure(start, parts, 1)
                if column == "kafkalet" and "start" in parts:
                    figures |= broker_in_process()
                for row, figure in figures.items():
                    columns.setdefault(column, {}).setdefault(row, []).append(figure)
    show({column: {row: median(each) for row, each in rows.items()} for column, rows in columns.items()})


def show(columns: dict[str, Figures]) -> None:
    print(f"{'wait, ms':<64}" + "".join(f"{column:>14}" for column in columns) + f"{'client itself':>16}")
    ours = columns["kafkalet"]
    for row in dict.fromkeys(row for figures in columns.values() for row in figures):
        raw = pair(row, list(ours))
        cells = [figures.get(row) for figures in columns.values()]
        own = "" if raw is None else _shown(max(0.0, ours[row] - ours[raw]))
        print(f"{row:<64}" + "".join(f"{_shown(cell):>14}" for cell in cells) + f"{own:>16}", flush=True)


def _shown(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:,.1f}" if figure < 100 else f"{figure:,.0f}"


if __name__ == "__main__":
    main()
