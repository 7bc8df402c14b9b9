"""Small directories of Apache Kafka, compared with the recorded responses of their broker (see recording.py).

Releases range from 0.8.2 and 0.10.0, which had no time index and no clean shutdown marker, to 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkalet_spark.decoding.chunks import read_chunks
from kafkalet_spark.decoding.records import decode
from kafkalet_spark.logs.directory import PartitionLog, find
from kafkalet_spark.logs.ends import log_end
from kafkalet_spark.logs.planning import plan
from kafkalet_spark.logs.splits import Split
from kafkalet_spark.logs.timestamps import TimestampSearch
from kafkalet_spark.logs.transactions import (
    aborted_transactions,
    last_stable_offset,
    open_transactions,
    verify_transactions,
)

from .recording import COMPACTED, DATA, DELETED, PLAIN, TRANSACTIONAL, unpack

RECORDINGS = sorted(DATA.glob("kafka-*.json"))
WITH_COMPACTION = [path for path in RECORDINGS if path.stem in ("kafka-2.8", "kafka-3.9", "kafka-4.4")]
STATES = ("running", "stopped")


class Recorded(NamedTuple):
    release: str
    logs: dict[str, PartitionLog]
    answers: dict[str, dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=[(path, state) for path in RECORDINGS for state in STATES],
    ids=lambda param: f"{param[0].stem}-{param[1]}",
)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    path, state = request.param
    recording = json.loads(path.read_text())
    directory = tmp_path_factory.mktemp(path.stem)
    unpack(recording[state], directory)
    return Recorded(recording["release"], {log.topic: log for log in find([str(directory)])}, recording["answers"])


def each(recorded: Recorded) -> Iterator[tuple[PartitionLog, dict[str, Any]]]:
    return ((recorded.logs[topic], answered) for topic, answered in recorded.answers.items())


def test_all_releases_are_recorded() -> None:
    releases = {json.loads(path.read_text())["release"] for path in RECORDINGS}
    assert releases == {"0.8.2.2", "0.10.0.1", "0.10.2.2", "2.8", "3.9", "4.4"}


def test_all_logs_are_found(recorded: Recorded) -> None:
    assert recorded.logs.keys() == recorded.answers.keys()
    assert len(recorded.logs[PLAIN].segments) > 2
    for log in recorded.logs.values():
        assert (log.topic_id is not None) == (recorded.release in ("3.9", "4.4"))


def test_offsets_match_the_broker(recorded: Recorded) -> None:
    for log, answered in each(recorded):
        result = answered["earliest"], answered["stable"], answered["latest"]
        assert (log.log_start_offset, last_stable_offset(log), log_end(log).offset) == result
        assert log_end(log).fault is None


def test_timestamp_lookups_match_the_broker(recorded: Recorded) -> None:
    for log, answered in each(recorded):
        search = TimestampSearch(log)
        found = {at: search.offset_for(at) or (-1, -1) for at, _, _ in answered["times"]}
        assert found == {at: (offset, timestamp) for at, offset, timestamp in answered["times"]}


def test_aborted_transactions_match_fetch_responses(recorded: Recorded) -> None:
    for log, answered in each(recorded):
        verify_transactions(log)
        found = aborted_transactions(log, 0, answered["stable"])
        pairs = list(zip(found.producer_id.tolist(), found.first_offset.tolist(), strict=True))
        assert pairs == [tuple(pair) for pair in answered["aborted"] if pair[1] < answered["stable"]]
        assert (open_transactions(log).first_offset.size > 0) == (log.topic == TRANSACTIONAL)


def offsets(splits: list[Split]) -> list[int]:
    found = []
    for split in splits:
        for piece in split.pieces:
            for chunk in read_chunks(piece.path, piece.start, piece.end):
                assert not chunk.problems
                rows = decode(chunk.buffer, chunk.batches, ()).offset.tolist()
                found += [at for at in rows if split.start_offset <= at < split.end_offset]
    return found


def test_splits_hold_every_record_once(recorded: Recorded) -> None:
    for log, answered in each(recorded):
        start, end = answered["earliest"], answered["latest"]
        everything = offsets(plan([(log, start, end)], max_bytes=1 << 30))
        if log.topic != COMPACTED:
            assert everything == list(range(start, end))
        for more in ({"max_bytes": 300}, {"max_bytes": 300, "min_splits": 20}, {"max_bytes": 900, "max_records": 5}):
            assert offsets(plan([(log, start, end)], **more)) == everything


@pytest.mark.parametrize(
    "recorded",
    [pytest.param((path, state), id=f"{path.stem}-{state}") for path in WITH_COMPACTION for state in STATES],
    indirect=True,
)
def test_files_of_compaction_and_deletion_are_not_segments(recorded: Recorded) -> None:
    log = recorded.logs[COMPACTED]
    assert len(offsets(plan([(log, 0, 1 << 40)], max_bytes=1 << 30))) < 20
    assert recorded.logs[DELETED].segments[0].base_offset > 0
    assert list(Path(log.path).glob("*.deleted"))
