"""The command line of the torture, `python -m tests.torture`; see the package."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from .campaign import Found, run, run_faults
from .processes import Lost, kill_and_check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description="Crash the storage of a broker.")
    parser.add_argument("--crashes", type=int, default=20_000, help="number of crashes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first workload (default: %(default)s)")
    parser.add_argument("--crash", type=int, help="repeat only this crash of the workload with this seed")
    parser.add_argument("--faults", type=int, default=3_000, help="number of faults of the disk (default: %(default)s)")
    parser.add_argument("--fault", type=int, help="repeat only this fault in the workload with this seed")
    parser.add_argument("--kills", type=int, default=30, help="number of killed processes (default: %(default)s)")
    parser.add_argument("--brokers", type=int, choices=(1, 3), help="only kill processes with this number of brokers")
    parser.add_argument("--keep-going", action="store_true", help="collect failures instead of stopping at the first")
    options = parser.parse_args()
    found: list[str] = []
    keep = found if options.keep_going else None
    seed = f"(seed {options.seed})"
    try:
        if options.fault is None and options.brokers is None:
            crashes = options.crashes if options.crash is None else 1
            print(run(options.seed, crashes, only=options.crash, found=keep), seed, flush=True)
        if options.crash is None and options.brokers is None:
            count = options.faults if options.fault is None else 1
            print(run_faults(options.seed, count, only=options.fault, found=keep), seed, flush=True)
        if options.crash is options.fault is None and options.kills:
            for brokers in (1, 3) if options.brokers is None else (options.brokers,):
                directory = Path(tempfile.mkdtemp(prefix="kafkalet-torture-"))  # kept after a failure
                print(kill_and_check(directory / "data", brokers, options.kills, options.seed), seed, flush=True)
                shutil.rmtree(directory)
    except (Found, Lost) as error:
        found.append(str(error))
    for problem in found:
        print(problem, end="\n\n", file=sys.stderr)
    print(f"{len(found)} failures", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
