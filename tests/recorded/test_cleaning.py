"""kafkalet cleans recorded logs as Apache Kafka did: the same entries, indexes, checkpoints and responses."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .cleaning.replay import compare
from .cleaning.rounds import ABORTED, Case, Files, Round, content, entries, horizon, load, segments

RELEASES = ("2.8", "3.9", "4.4")
CASES = [case for release in RELEASES for case in load(release)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_log_is_cleaned_as_apache_kafka_cleaned_it(case: Case, tmp_path: Path) -> None:
    assert compare(case, tmp_path) == []


def test_recordings_cover_what_the_cleaner_does() -> None:
    done = Counter(fact for case in CASES for each in case.rounds for fact in facts(each))
    wanted = {
        "cleaned", "not cleaned", "segments combined", "several segments left", "records removed", "batch emptied",
        "batch kept empty", "horizon set", "horizon expired", "marker removed", "aborted transaction forgotten",
        "aborted transaction kept", "transaction open", "log start inside of the log", "compressed", "format 0",
        "format 1", "null key", "batch removed",
    }  # fmt: skip
    assert wanted - done.keys() == set()
    assert done["cleaned"] > 150


def facts(done: Round) -> Iterator[str]:
    """Yield what the cleaner did in a round, and what it found."""
    if done.dirty == done.dirty_after:
        yield "not cleaned"
        return
    yield "cleaned"
    names = segments(done.after)
    kept, lost = aborted(done.after), aborted(done.before) - aborted(done.after)
    yield from (
        fact
        for fact, is_true in (
            ("segments combined", len(names) < len(segments(done.before)) and not done.is_deleting),
            ("several segments left", len(names) > 2),
            ("transaction open", done.answers["stable"] < done.answers["end"]),
            ("log start inside of the log", done.log_start_offset > int(segments(done.before)[0])),
            ("aborted transaction kept", bool(kept)),
            ("aborted transaction forgotten", bool(lost) and not done.is_deleting),
        )
        if is_true
    )
    after = {offset_of(batch): batch for batch in entries(done.after)}
    for batch in entries(done.before):
        if batch["magic"] < 2:
            yield f"format {batch['magic']}"
        elif (now := after.get(offset_of(batch))) is not None:
            yield from facts_of_batch(batch, now)
        elif not done.is_deleting:
            yield "marker removed" if batch.get("control") else "batch removed"
            if horizon(batch) is not None:
                yield "horizon expired"


def facts_of_batch(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    if before["codec"] != "none":
        yield "compressed"
    if any(each.get("key") is None and "value" in each for each in before["records"]):
        yield "null key"
    if after["count"] < before["count"]:
        yield "records removed" if after["count"] else "batch emptied"
    elif not after["count"]:
        yield "batch kept empty"
    if horizon(after) is not None and horizon(before) is None:
        yield "horizon set"


def offset_of(batch: dict[str, Any]) -> int:
    offset: int = batch["offset"] if batch["magic"] < 2 else batch["base_offset"]
    return offset


def aborted(files: Files) -> set[tuple[int, ...]]:
    return {each for base in segments(files) for each in ABORTED.iter_unpack(content(files, f"{base}.txnindex"))}
