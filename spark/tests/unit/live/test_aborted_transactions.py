import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.live.aborted_transactions import LAST, aborted_in

from .histories import Log, Step, build, steps

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


def answer(log: Log, first: int, last: int) -> tuple[bytearray, list[tuple[int, int]]]:
    """Return some batches, and the aborted transactions that overlap them, as a broker would send them."""
    start, end = log.offsets[first], log.offsets[last]
    reaching = [(producer_id, begun) for producer_id, begun, ended in log.aborted if ended >= start and begun < end]
    return bytearray(b"".join(log.batches[first:last])), reaching


@given(steps(), st.data())
def test_aborted_batches_match_those_of_a_consumer(course: list[Step], data: st.DataObject) -> None:
    log = build(course)
    first = data.draw(st.integers(0, len(log.batches)), label="first")
    last = data.draw(st.integers(first, len(log.batches)), label="last")
    buffer, begun = answer(log, first, last)
    batches, _ = walk(buffer)
    aborted = aborted_in(buffer, batches, begun)
    by_offset = batches.base_offset[:, None]
    within = (aborted.first_offset <= by_offset) & (by_offset <= aborted.last_offset)
    hidden = (within & (aborted.producer_id == batches.producer_id[:, None])).any(1) & batches.is_transactional
    assert (hidden | batches.is_control).tolist() == log.hidden[first:last]


@given(steps(), st.data())
def test_transaction_ends_at_its_marker_or_is_open_ended(course: list[Step], data: st.DataObject) -> None:
    log = build(course)
    last = data.draw(st.integers(0, len(log.batches)), label="last")
    buffer, begun = answer(log, 0, last)
    aborted = aborted_in(buffer, walk(buffer)[0], begun)
    ends = {(producer_id, first): end for producer_id, first, end in log.aborted}
    expected = [
        (first, producer_id, end if end < log.offsets[last] else LAST)
        for (producer_id, first), end in ends.items()
        if (producer_id, first) in begun
    ]
    assert list(zip(aborted.first_offset, aborted.producer_id, aborted.last_offset, strict=True)) == sorted(expected)


def test_no_transactions_are_found_in_plain_logs() -> None:
    buffer = bytearray(build([Step(-1)]).batches[0])
    aborted = aborted_in(buffer, walk(buffer)[0], [])
    assert [column.size for column in aborted] == [0, 0, 0]
    assert [column.size for column in aborted_in(bytearray(), walk(b"")[0], [])] == [0, 0, 0]


def test_thousands_of_transactions_are_distinguished() -> None:
    course = [step for number in range(5000) for step in (Step(number % 7), Step(number % 7, end=ABORT))]
    log = build(course)
    buffer, begun = answer(log, 0, len(log.batches))
    aborted = aborted_in(buffer, walk(buffer)[0], begun[::-1])
    assert np.array_equal(aborted.last_offset, aborted.first_offset + 1)


def test_marker_offset_is_that_of_its_record() -> None:
    marker = build_end_marker(EndMarker(ABORT, 0), timestamp=0, producer_id=5, producer_epoch=0, base_offset=9)
    buffer = bytearray(b"?" * 100 + marker)
    batches, _ = walk(buffer, 100)
    aborted = aborted_in(buffer, batches, [(5, 2), (6, 3)])
    assert aborted.last_offset.tolist() == [9, LAST]
