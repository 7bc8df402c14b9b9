"""The main file of `spark-submit`: the commands of the pipeline, on whatever Spark runs.

    spark-submit --master yarn .../kafkalet/pipeline/submit.py dump /logs --out /dump

Where kafkalet is not installed for the driver's Python, it comes as a zip file: `--py-files kafkalet.zip`. To the
executors it is sent along in any case. `python3 -m kafkalet.pipeline.submit` does the same without spark-submit.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module


def main() -> int:
    """Run the command of this process's command line."""
    here = os.path.dirname(os.path.abspath(__file__))
    # Python puts the folder of a main file first, where `options` and `source` are no modules of ours to be found.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    root = os.path.dirname(os.path.dirname(here))
    if root not in sys.path:
        sys.path.append(root)
    jobs = import_module("kafkalet.pipeline.jobs")  # by its whole name: this file may be in no package
    return int(jobs.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
