"""The command line of the torture, `python -m tests.torture`; see the package."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from .campaign import Found, run, run_compaction, run_faults
from .processes import Lost, kill_and_check
from .sharing import torture_share_groups

SHARES = 300


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description="Crash the storage of a broker.")
    parser.add_argument("--crashes", type=int, default=17_000, help="number of crashes (default: %(default)s)")
    parser.add_argument(
        "--compactions", type=int, default=3_000, help="number of crashes during compaction (default: %(default)s)"
    )
    parser.add_argument("--faults", type=int, default=3_000, help="number of faults of the disk (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=30, help="number of killed processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first workload (default: %(default)s)")
    parser.add_argument("--crash", type=int, help="repeat only this crash of the workload with this seed")
    parser.add_argument("--compaction", type=int, help="repeat only this crash during compaction")
    parser.add_argument("--fault", type=int, help="repeat only this fault in the workload with this seed")
    parser.add_argument("--brokers", type=int, choices=(1, 3), help="only kill processes with this number of brokers")
    parser.add_argument(
        "--shares", type=int, help=f"only crash brokers of share groups this many times (with everything: {SHARES})"
    )
    parser.add_argument("--keep-going", action="store_true", help="collect failures instead of stopping at the first")
    options = parser.parse_args()
    found: list[str] = []
    keep = found if options.keep_going else None
    seed, shown = options.seed, f"(seed {options.seed})"
    everything = options.crash is options.compaction is options.fault is options.brokers is options.shares is None
    try:
        if everything or options.crash is not None:
            print(run(seed, options.crashes if everything else 1, only=options.crash, found=keep), shown, flush=True)
        if everything or options.compaction is not None:
            count = options.compactions if everything else 1
            tried = run_compaction(seed, count, only=options.compaction, found=keep)
            print("compaction:", tried, shown, flush=True)
        if everything or options.fault is not None:
            count = options.faults if everything else 1
            print(run_faults(seed, count, only=options.fault, found=keep), shown, flush=True)
        if (everything or options.brokers is not None) and options.kills:
            for brokers in (1, 3) if everything else (options.brokers,):
                directory = Path(tempfile.mkdtemp(prefix="kafkalet-torture-"))  # kept after a failure
                print(kill_and_check(directory / "data", brokers, options.kills, seed), shown, flush=True)
                shutil.rmtree(directory)
        if everything or options.shares is not None:
            for tried_shares in torture_share_groups(options.shares or SHARES, seed):
                print(tried_shares, shown, flush=True)
    except (Found, Lost) as error:
        found.append(str(error))
    for problem in found:
        print(problem, end="\n\n", file=sys.stderr)
    print(f"{len(found)} failures", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
