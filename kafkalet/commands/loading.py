"""`--load TOPIC=FILE`: fills topics from files before the broker is ready."""

import contextlib
import csv
import logging
import sys
from collections.abc import Sequence

from kafkalet.broker.seeding.loader import load
from kafkalet.broker.seeding.record_files import Columns, LoadError, RecordFile
from kafkalet.broker.server import Server
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.files import explain

from .command_line import Failure, UsageError

_LOG = logging.getLogger("kafkalet")

# A field in a CSV file may be as large as the largest record.
MAX_FIELD_CHARS = 1 << 30


async def load_files(server: Server, loads: Sequence[tuple[str, str]], key: str | None, timestamp: str | None) -> None:
    """Load each file into its topic. `key` and `timestamp` name columns of the CSV files.

    Raises Failure for a file that cannot be loaded, and UsageError for columns if no file is CSV.
    """
    csv.field_size_limit(MAX_FIELD_CHARS)
    columns = Columns(key, timestamp)
    if columns != Columns():
        _refuse_columns_without_csv([path for _, path in loads], columns)
    for topic, path in loads:
        progress = _Progress(topic, path) if sys.stderr is not None and sys.stderr.isatty() else None
        try:
            count = await load(server, topic, path, columns, progress)
        except (LoadError, KafkaError) as error:
            reason = error.message if isinstance(error, KafkaError) else error
            raise Failure(f"--load {topic}={path}: {reason}" if isinstance(error, KafkaError) else reason) from error
        except OSError as error:
            what = error.strerror if error.filename == path else explain(error)
            raise Failure(f"--load {topic}={path}: {what}") from error
        finally:
            if progress is not None:
                progress.end()
        _LOG.info("loaded %d records from %s into topic %s", count, path, topic)


def _refuse_columns_without_csv(paths: Sequence[str], columns: Columns) -> None:
    """Raise UsageError if --key or --timestamp is given but no file is CSV: JSON Lines carry both in their fields."""
    with contextlib.suppress(OSError, LoadError):  # the load itself reports what is wrong with the file
        if not any(RecordFile(path).is_csv for path in paths):
            option, name = ("--key", columns.key) if columns.key is not None else ("--timestamp", columns.timestamp)
            raise UsageError(
                f"{option} {name}: names a CSV column, but no --load file is CSV; "
                f'in JSON Lines, use the field "{option[2:]}"'
            )


class _Progress:
    """A progress line on the terminal that shows how much of a file has been loaded."""

    def __init__(self, topic: str, path: str) -> None:
        self._what = f"loading {path} into {topic}"
        self._shown = -1

    def __call__(self, records: int, part: float) -> None:
        percent = int(part * 100)
        if percent != self._shown:
            self._shown = percent
            self._write(f"\r{self._what}: {records:,} records, {percent} %")

    def end(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone; the load continues without progress
            sys.stderr.write(text)
            sys.stderr.flush()
