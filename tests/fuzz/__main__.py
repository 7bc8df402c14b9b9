"""The command line of the request fuzzer, `python -m tests.fuzz`; see the package."""

import argparse
import sys

from .campaign import Found, run
from .corpus import corpus


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Send malformed requests to a broker.")
    parser.add_argument("--inputs", type=int, default=100_000, help="number of inputs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random generator (default: %(default)s)")
    parser.add_argument("--keep-going", action="store_true", help="collect bugs instead of stopping at the first")
    options = parser.parse_args()
    print(f"{len(corpus()):,} frames to begin with", flush=True)
    found: dict[str, Found] = {}
    try:
        print(run(options.inputs, options.seed, progress=True, found=found if options.keep_going else None))
    except Found as end:
        found["end"] = end
    for bug in found.values():
        print(f"seed {options.seed}: {bug}\n", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
