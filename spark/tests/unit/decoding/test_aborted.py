"""Batches of aborted transactions are distinguished from others."""

import numpy as np
import pytest
from hypothesis import given

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType
from kafkalet.protocol.records.record import Record
from kafkalet_spark.decoding.aborted import AbortedTransactions, abort_markers, is_aborted
from kafkalet_spark.decoding.batches import walk
from spark.tests.unit.live.histories import Step, build, steps

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


@given(steps())
def test_aborted_batches_are_those_that_consumers_skip(course: list[Step]) -> None:
    log = build(course)
    batches, _ = walk(b"".join(log.batches))
    aborted = AbortedTransactions(*np.array(log.aborted, np.int64).reshape(-1, 3).T)
    assert (is_aborted(batches, aborted) | batches.is_control).tolist() == log.hidden


def test_commit_and_leader_change_markers_abort_nothing() -> None:
    change = Record(9, 0, bytes([0, 0, 0, ControlType.LEADER_CHANGE]), b"\0\0")
    leader = build_batch([change], base_offset=9, leader_epoch=1, is_control=True)
    log = build([Step(1), Step(1, end=COMMIT), Step(2), Step(2, end=ABORT)])
    buffer = bytearray(b"".join(log.batches) + leader)
    assert abort_markers(buffer, walk(buffer)[0]).tolist() == [3]


@pytest.mark.parametrize("kind", [ABORT, COMMIT])
@pytest.mark.parametrize(
    "shape",
    [
        {"base_timestamp": 1_000_000},  # as after compaction, which stores the delete horizon there
        {"codec": Codec.GZIP},
        {"long_key": True},
        {"headers": True},
    ],
    ids=lambda shape: next(iter(shape)),
)
def test_marker_with_unusual_layout_is_decoded(kind: ControlType, shape: dict[str, object]) -> None:
    key = bytes([0, 0, 0, kind]) + (b"more" if shape.pop("long_key", False) else b"")
    headers = (("a", b"b"),) if shape.pop("headers", False) else ()
    buffer = bytearray(
        build_batch(
            [Record(7, 2_000_000, key, bytes(6), headers)],
            base_offset=7,
            producer_id=3,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
            **shape,  # type: ignore[arg-type]
        )
    )
    assert abort_markers(buffer, walk(buffer)[0]).size == (kind is ABORT)


def test_empty_control_batch_is_not_a_marker() -> None:
    empty = build_batch(
        [],
        base_offset=0,
        last_offset=0,
        producer_id=3,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
        base_timestamp=0,
        max_timestamp=0,
    )
    assert abort_markers(bytearray(empty), walk(empty)[0]).size == 0


@pytest.mark.parametrize("key", [None, b"", b"\0"])
def test_invalid_control_record_is_not_a_marker(key: bytes | None) -> None:
    odd = build_batch([Record(0, 0, key, b"", ())], producer_id=3, producer_epoch=0, is_control=True)
    assert abort_markers(bytearray(odd), walk(odd)[0]).size == 0
