"""A .snapshot that differs from the batches is found, and permitted omissions are accepted."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kafkalet_spark.logs.snapshots import Producers, read_snapshot, snapshot_bytes
from spark.tests.unit.logs.made import T0, Made

from .audited import audited, flip, found, make, segments

DAY_MS = 24 * 60 * 60 * 1000


def last(made: Made) -> tuple[Path, Producers]:
    path = segments(made, ".snapshot")[-1]
    return path, read_snapshot(str(path))


@pytest.mark.parametrize("field", [field for field in Producers._fields if field != "producer_id"])
def test_a_changed_field_is_found(tmp_path: Path, field: str) -> None:
    made = make(tmp_path)
    path, producers = last(made)
    path.write_bytes(snapshot_bytes(producers._replace(**{field: getattr(producers, field) + 1})))
    findings = found(made, "snapshot")
    assert findings
    assert {finding.file for finding in findings} == {str(path)}
    assert all(f"{field} " in finding.message for finding in findings)


def test_a_flipped_byte_is_found_with_its_position(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, _ = last(made)
    flip(path, 20)
    findings = found(made, "snapshot")
    assert {(finding.file, finding.position) for finding in findings} == {(str(path), 2)}


def test_producer_without_batches_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, producers = last(made)
    path.write_bytes(snapshot_bytes(producers._replace(producer_id=producers.producer_id + 100)))
    assert any("wrote nothing" in finding.message for finding in found(made, "snapshot"))


def test_missing_producer_with_open_transaction_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, producers = last(made)
    is_open = producers.first_offset >= 0
    assert is_open.any()
    path.write_bytes(snapshot_bytes(Producers(*(column[~is_open] for column in producers))))
    assert any("is missing" in finding.message for finding in found(made, "snapshot"))


def test_idle_producer_may_be_missing(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, producers = last(made)
    is_open = producers.first_offset >= 0
    path.write_bytes(snapshot_bytes(Producers(*(column[is_open] for column in producers))))
    os.utime(path, ns=((T0 + 1000) * 1_000_000,) * 2)
    assert any("is missing" in finding.message for finding in found(made, "snapshot"))
    os.utime(path, ns=((T0 + 2 * DAY_MS) * 1_000_000,) * 2)
    assert audited(made.path).agrees


def test_snapshot_past_the_log_end_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, _ = last(made)
    path.rename(path.with_name(f"{10**6:020d}.snapshot"))
    ahead, missing = found(made, "snapshot")
    assert "the log ends at" in ahead.message
    assert (missing.fault, missing.file) == ("no-last-snapshot", str(path))


def test_duplicate_producer_is_found(tmp_path: Path) -> None:
    made = make(tmp_path)
    path, producers = last(made)
    path.write_bytes(snapshot_bytes(Producers(*(np.append(column, column[:1]) for column in producers))))
    (finding,) = found(made, "snapshot")
    assert "more than once" in finding.message
