"""The test kit: what a test with a broker costs, and how long its operations take.

    python -m benchmarks.kit [--tests 200] [--runs 3]

A suite of small tests runs in a separate process, so that its figures include pytest. `per test` is the difference
from the same suite without a broker.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import kafkalet

WITHOUT = "without a broker"
SUITES = {
    WITHOUT: "def test_{n}():\n    assert True\n",
    "a fresh broker": "def test_{n}(kafka):\n    assert kafka.bootstrap_servers\n",
    "a fresh broker, send and wait": """
def test_{n}(kafka):
    assert kafka.topic("t").send("v").wait_for(1)
""",
    "a shared broker and a new topic, send and wait": """
def test_{n}(kafka_session, kafka_topic):
    assert kafka_topic.send("v").wait_for(1)
""",
    "a shared broker with reset(), send and wait": """
def test_{n}(kafka_session):
    kafka_session.reset()
    assert kafka_session.topic("t").send("v").wait_for(1)
""",
    "a fresh broker and a librdkafka producer": """
def test_{n}(kafka):
    producer = Producer({{"bootstrap.servers": kafka.bootstrap_servers}})
    producer.produce("t", b"v")
    producer.flush(10)
    assert kafka.topic("t").wait_for(1)
""",
}


def suite_s(test: str, tests: int, directory: Path) -> float:
    """Return the time that pytest takes for a suite of copies of a test, in seconds."""
    path = directory / "test_suite.py"
    path.write_text("from confluent_kafka import Producer\n\n" + "\n".join(test.format(n=n) for n in range(tests)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(path)]
    began_s = perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=directory)
    return perf_counter() - began_s


def operations() -> dict[str, Callable[[], object]]:
    """Return the operations to measure, on a broker with 30 partitions and 3,000 records."""
    broker = kafkalet.Broker()
    broker.__enter__()

    def fill() -> None:
        for number in range(10):
            broker.topic(f"t{number}", partitions=3).send_batch([(str(key), "v" * 100) for key in range(300)])

    fill()
    snapshot = broker.snapshot()

    def reset() -> None:
        broker.reset()

    return {
        "settle": broker.settle,
        "clock.advance(hours=2)": lambda: broker.clock.advance(hours=2),
        "open_transaction, one record": lambda: transaction(broker),
        "snapshot": broker.snapshot,
        "restore": lambda: broker.restore(snapshot),
        "reset, empty": reset,
    }


def transaction(broker: kafkalet.Broker) -> None:
    with broker.open_transaction("tx") as opened:
        opened.send("t0", "v")


def operation_ms(operation: Callable[[], object], runs: int) -> float:
    times_ms = []
    for _ in range(runs):
        began_s = perf_counter()
        operation()
        times_ms.append((perf_counter() - began_s) * 1000)
    return median(times_ms)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kit", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=int, default=200, help="number of tests of each suite")
    parser.add_argument("--runs", type=int, default=3, help="number of runs of each suite")
    options = parser.parse_args(arguments)
    print(f"{f'suite of {options.tests} tests':<52}{'s':>10}{'ms per test':>14}")
    base_s = 0.0
    with tempfile.TemporaryDirectory() as directory:
        for name, test in SUITES.items():
            seconds = median(suite_s(test, options.tests, Path(directory)) for _ in range(options.runs))
            base_s = seconds if name == WITHOUT else base_s
            print(f"{name:<52}{seconds:>10.2f}{(seconds - base_s) * 1000 / options.tests:>14.1f}", flush=True)
    print(f"\n{'operation, 30 partitions, 3,000 records':<52}{'':>10}{'ms':>14}")
    for name, operation in operations().items():
        print(f"{name:<52}{'':>10}{operation_ms(operation, 20):>14.2f}", flush=True)


if __name__ == "__main__":
    main()
