"""The main file for `spark-submit`: runs a pipeline command on any Spark cluster.

    spark-submit --master yarn .../kafkalet_spark/submit.py dump /logs --out /dump

If kafkalet is not installed for the driver's Python, pass it as a zip file: `--py-files kafkalet.zip`. The packages are
always sent to the executors. `python3 -m kafkalet_spark.submit` does the same without spark-submit.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module


def main() -> int:
    """Run the command given in sys.argv and return its exit status."""
    here = os.path.dirname(os.path.abspath(__file__))
    # Python puts the folder of the main file first on sys.path, but the modules in it must not be top-level modules.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    root = os.path.dirname(os.path.dirname(here))
    if root not in sys.path:
        sys.path.append(root)
    jobs = import_module("kafkalet_spark.jobs")  # not a relative import: this file may run outside the package
    return int(jobs.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
