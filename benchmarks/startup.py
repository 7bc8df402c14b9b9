"""Measure how long a broker takes to start, inside the process and as a separate process."""

import subprocess
import sys
import time
from statistics import median


def in_process(runs: int) -> float:
    """Return the milliseconds from `Broker()` to the first accepted connection, with kafkalet already imported."""
    script = """
import socket, time, kafkalet
with kafkalet.Broker():
    pass
begun = time.perf_counter()
with kafkalet.Broker() as broker:
    socket.create_connection(("127.0.0.1", broker.port)).close()
    print((time.perf_counter() - begun) * 1000)
"""
    return median(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(runs))


def as_process(runs: int) -> float:
    """Return the milliseconds from the start of the process to its ready line."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        process.stdout.readline()
        times.append((time.perf_counter() - begun) * 1000)
        process.terminate()
        process.wait()
        process.stdout.close()
    return median(times)


def main(runs: int = 5) -> None:
    print(f"{'start as a process':<40}{'ms':<12}{as_process(runs):>14.1f}")
    print(f"{'Broker() inside a process':<40}{'ms':<12}{in_process(runs):>14.1f}")


if __name__ == "__main__":
    main()
