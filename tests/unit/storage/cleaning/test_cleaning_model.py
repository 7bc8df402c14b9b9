"""Compaction of random logs, compared with a simple model: what a consumer sees is unchanged.

The log has several producers with and without transactions, tombstones, rolls at random places, several rounds, crashes
and clean restarts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.batch import batches
from kafkalet.storage.cleaning.cleaner import CleanerSettings
from kafkalet.storage.values import Isolation
from tests.unit.storage.place import content
from tests.unit.storage.producing import record

from .cleaned_place import COMPACTED, CleanedPlace

HOUR_MS = 3_600_000
KEYS = "abcd"


class Put(NamedTuple):
    """Append a batch. Upper-case keys are tombstones. Producers 1 and 2 are transactional, producer 0 is not."""

    keys: str
    producer: int


class End(NamedTuple):
    producer: int
    commit: bool


class Clean(NamedTuple):
    map_keys: int
    buffer_bytes: int


class Other(NamedTuple):
    """roll, wait (for more than delete.retention.ms), reopen, crash, or start (delete the oldest third)."""

    what: str


STEPS = st.one_of(
    st.builds(Put, st.text(KEYS + KEYS.upper(), min_size=1, max_size=4), st.integers(0, 2)),
    st.builds(Put, st.text(KEYS, min_size=1, max_size=4), st.integers(0, 2)),
    st.builds(End, st.integers(1, 2), st.booleans()),
    st.builds(Clean, st.sampled_from([3, 1000]), st.sampled_from([1, 200, 1 << 18])),
    st.builds(Other, st.sampled_from(["roll", "roll", "wait", "reopen", "crash", "start"])),
)


class Model:
    """A log, and what was appended to it."""

    def __init__(self, path: Path) -> None:
        self.place = CleanedPlace(path, COMPACTED._replace(delete_retention_ms=HOUR_MS, index_interval_bytes=100))
        self.appended: dict[int, tuple[bytes, bytes | None]] = {}
        self.open: dict[int, int] = {}
        self.sequences = [0, 0, 0]

    def step(self, step: Put | End | Clean | Other) -> None:
        place = self.place
        if isinstance(step, Put):
            self.put(step)
        elif isinstance(step, End):
            if self.open.pop(step.producer, None) is not None:
                place.end_transaction(step.producer, commit=step.commit)
        elif isinstance(step, Clean):
            self.clean(step)
        elif step.what == "wait":
            place.clock.advance(milliseconds=HOUR_MS + 1)
        elif step.what == "roll":
            if place.log.segments.active.size_bytes:
                place.log.roll()
        elif step.what == "start":
            place.log.maybe_increment_log_start_offset(place.log.last_stable_offset // 3)
        else:
            place.log.flush()
            end = place.log.log_end_offset
            place.reopen() if step.what == "reopen" else place.crash()
            assert place.log.log_end_offset == end
            place.log.maybe_increment_high_watermark(end)

    def put(self, step: Put) -> None:
        place, log = self.place, self.place.log
        first = log.log_end_offset
        records = []
        for number, key in enumerate(step.keys):
            value = None if key.isupper() else str(first + number)
            records.append(record(place.clock.now_ms(), key.lower(), value))
            self.appended[first + number] = key.lower().encode(), None if value is None else value.encode()
        place.append(
            *records,
            producer_id=step.producer,
            producer_epoch=0,
            base_sequence=self.sequences[step.producer],
            transactional=step.producer > 0,
        )
        self.sequences[step.producer] += len(records)
        if step.producer:
            self.open.setdefault(step.producer, first)

    def clean(self, step: Clean) -> None:
        place, log = self.place, self.place.log
        offsets = log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset
        before, stable = self.seen(), log.last_stable_offset
        found = place.clean(CleanerSettings(24 * step.map_keys, 0.9, step.buffer_bytes), roll=False)
        assert (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset) == offsets
        after = self.seen()
        if found is None:
            assert after == before
            return
        assert found.end_offset <= stable
        assert newest(after) == newest(before)
        for offset, row in after.items():
            assert row == before[offset]
        assert [offset for offset in before if offset >= found.end_offset] == [
            offset for offset in after if offset >= found.end_offset
        ]
        self.check_files()

    def seen(self) -> dict[int, tuple[bytes | None, bytes | None]]:
        """Return the records that a read_committed consumer sees, keyed by offset."""
        log, seen = self.place.log, {}
        offset = log.log_start_offset
        while offset < log.last_stable_offset:
            result = log.read(offset, 1 << 30, Isolation.LAST_STABLE, True)
            found = list(batches(content(result)))
            if not found:
                break
            aborted = {(each.producer_id, each.first_offset): each.last_offset for each in result.aborted or ()}
            for batch in found:
                is_aborted = any(
                    batch.is_transactional and producer == batch.producer_id and first <= batch.last_offset < last
                    for (producer, first), last in aborted.items()
                )
                if not batch.is_control and not is_aborted:
                    for each in batch.records():
                        if each.offset >= offset:
                            assert self.appended[each.offset] == (each.key, each.value)
                            seen[each.offset] = each.key, each.value
            offset = found[-1].next_offset
        return seen

    def check_files(self) -> None:
        """Check that offsets increase and that index entries point to batches."""
        last = -1
        for segment in self.place.log.segments:
            positions = {}
            for position, batch in segment.entries():
                batch.check_crc()
                assert batch.base_offset > last
                last = batch.last_offset
                positions[position] = batch
            for entry in range(len(segment.offset_index)):
                assert segment.offset_index.position(entry) in positions
            segment.txn_index.check()


def newest(seen: dict[int, tuple[bytes | None, bytes | None]]) -> dict[bytes | None, bytes | None]:
    """Return the newest value of each key that has one."""
    rows = {key: value for _, (key, value) in sorted(seen.items())}
    return {key: value for key, value in rows.items() if value is not None}


@given(st.lists(STEPS, min_size=5, max_size=40))
def test_consumers_see_the_newest_values_after_compaction(steps: list[Put | End | Clean | Other]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        model = Model(Path(directory) / "data")
        for step in steps:
            model.step(step)
        for producer in sorted(model.open):
            model.place.end_transaction(producer, commit=True)
        model.step(Other("roll"))
        model.step(Clean(1000, 1 << 18))
        model.place.directory.close(discard=True)
