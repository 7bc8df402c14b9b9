"""A log that is compacted on request, and the records that are left in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.cleaning.cleaner import CleanerSettings, Round
from kafkalet.storage.cleaning.log_cleaner import LogCleaner
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.log import Log
from kafkalet.tasks.task import finish
from tests.unit.storage.place import CONFIG, Place
from tests.unit.storage.producing import record

T = TypeVar("T")

DEFAULTS = CleanerSettings()
COMPACTED = CONFIG._replace(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.01)


class Kept(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


def run(work: Coroutine[Any, Any, T], before_each: Callable[[], object] = lambda: None) -> T:
    """Run a coroutine. `before_each` is called before each function that it runs in a thread."""

    def call(resume: Callable[[], Any]) -> Any:
        step = resume()
        if step is not None:
            before_each()
        return step

    return finish(work, call)


class CleanedPlace(Place):
    """A compacted log. `put` appends a batch for each group of keys, `clean` compacts everything that was put."""

    opened: ClassVar[list[LogDirectory]] = []
    """The directories that were opened since the start of the test."""

    def __init__(self, path: Path, config: LogConfig = COMPACTED, *, durable: bool = False) -> None:
        super().__init__(path, config, durable=durable)

    def open(self) -> None:
        super().open()
        self.opened.append(self.directory)
        self.cleaner = LogCleaner(self.logs, self.directory.environment.cleaning)

    def logs(self) -> list[Log]:
        return list(self.directory.logs.values())

    @property
    def key(self) -> tuple[str, int]:
        return self.log.topic, self.log.partition

    @property
    def checkpoint(self) -> int | None:
        return self.cleaner.state.offsets.get(self.key)

    def put(self, *batches: str, **fields: Any) -> None:
        """Append a batch for each word, with a record for each letter: `aB` is a record of a, and a tombstone of b.

        The values of the records are their numbers in the call.
        """
        number = 0
        for word in batches:
            records = []
            for letter in word:
                value = None if letter.isupper() else str(number)
                records.append(record(ts=self.clock.now_ms(), key=letter.lower(), value=value))
                number += 1
            self.append(*records, **fields)

    def clean(self, settings: CleanerSettings = DEFAULTS, *, roll: bool = True) -> Round | None:
        """Roll, and clean one round. Return None if the log was not due."""
        if roll and self.log.segments.active.size_bytes:
            self.log.roll()
            self.log.maybe_increment_high_watermark(self.log.log_end_offset)
        cleaned = run(self.cleaner.clean_filthiest(settings, self.clock.now_ms()))
        return None if cleaned is None else cleaned[1]

    def batches(self) -> list[Batch]:
        """Return all batches of the log, read from the files."""
        return [batch for segment in self.log.segments for _, batch in segment.entries()]

    def kept(self) -> list[Kept]:
        """Return all records of the log, without markers."""
        return [
            Kept(each.offset, each.key, each.value)
            for batch in self.batches()
            if not batch.is_control
            for each in batch.records()
        ]

    def kept_keys(self) -> str:
        """Return the keys that are left, as in `put`."""
        return "".join(
            each.key.decode().upper() if each.value is None else each.key.decode()
            for each in self.kept()
            if each.key is not None
        )
