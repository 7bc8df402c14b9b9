"""The command line of the search for anomalies, `python -m tests.anomalies`; see the package."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.clients.toolchains import Workshop

from . import faults
from .campaign import Client, python_client, run
from .worker import CLIENTS


def main() -> int:
    workshop = Workshop(Path(tempfile.mkdtemp(prefix="kafkalet-anomalies-programs-")))
    others: dict[str, Callable[[], Client]] = {
        "java": lambda: Client("java", workshop.java("Anomalies", "4.4.0")),
        "go": lambda: Client("go", workshop.go("anomalies")),
    }
    parser = argparse.ArgumentParser(prog="python -m tests.anomalies", description="Search for anomalies under faults.")
    parser.add_argument("--seconds", type=float, default=60, help="duration of a run (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=1, help="number of runs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run (default: %(default)s)")
    parser.add_argument("--acks", choices=("all", "1"), default="all", help="acks of producers (default: %(default)s)")
    parser.add_argument("--unsafe", action="store_true", help="elect replicas that lack acknowledged records")
    parser.add_argument("clients", nargs="*", help=f"names of clients: {', '.join((*CLIENTS, *others))} (default: all)")
    options = parser.parse_args()
    clients = [
        python_client(name) if name in CLIENTS else others[name]() for name in options.clients or (*CLIENTS, *others)
    ]
    possible = faults.UNSAFE if options.unsafe else faults.SAFE
    found = 0
    for seed in range(options.seed, options.seed + options.runs):
        directory = Path(tempfile.mkdtemp(prefix=f"kafkalet-anomalies-{seed}-"))
        done = run(clients, options.seconds, seed, acks=options.acks, possible=possible, directory=directory)
        print(f"seed {seed}: {done}", flush=True)
        for anomaly in done.anomalies[:20]:
            print(f"{anomaly.kind}: {anomaly.text}")
        if done.anomalies:
            print(f"see {directory}", flush=True)
        found += len(done.anomalies)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
