"""The command line of the pipeline: `kafkalet-spark load`, `dump`, `audit`.

Exit status: 0 on success; 1 if the environment prevents the job (no Spark, an unreadable log, lost offsets) or an audit
finds disagreements; 2 if the command line is wrong; 3 if an audit found nothing wrong but could not check everything.
A failure prints one line to stderr, and results go to stdout. Spark's own report of a failed task is logged at level
debug.
"""

from __future__ import annotations

import logging
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from kafkalet.properties import InvalidProperty

from .commands.command_line import UsageError, conf, parse
from .failures import reason_of
from .option_types import BadOption
from .requirements import missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("kafkalet_spark")
PROGRAM = "kafkalet-spark"


def main(
    arguments: Sequence[str] | None = None, *, spark: SparkSession | None = None, output: TextIO | None = None
) -> int:
    """Run a command and return its exit status. A session that is passed in is used but not stopped."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        parsed = parse(arguments or ["--help"], PROGRAM)
    except UsageError as error:
        return _complain(str(error), 2)
    except SystemExit:  # argparse has shown the help
        return 0
    needs_java = parsed.command == "load" or not parsed.dry_run
    if reason := missing(with_java=needs_java):
        return _complain(reason, 1)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    for package in ("kafkalet", "kafkalet_spark"):
        logging.getLogger(package).setLevel(parsed.log_level.upper())
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            return _run(parsed, spark, output)
    except (UsageError, BadOption, InvalidProperty) as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("interrupted", 1)
    except Exception as error:  # noqa: BLE001 - exceptions of Spark and its sources have no common base class
        _LOG.debug("the job failed", exc_info=error)
        return _complain(reason_of(error), 1)


def _run(parsed: Namespace, spark: SparkSession | None, output: TextIO | None) -> int:
    from .commands.running import Running

    command = import_module(f".commands.{parsed.command}", __package__)
    job = command.prepare(parsed)
    running = Running(master=parsed.master, conf=conf(parsed), progress=parsed.progress, spark=spark, output=output)
    try:
        if parsed.dry_run:
            job.dry_run(running)
            return 0
        return int(job.run(running))
    finally:
        running.close()


def _complain(reason: str, status: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {reason}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
