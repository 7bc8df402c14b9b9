"""Tests of the cleaner's checkpoint, and of aborting a round."""

import threading
from pathlib import Path

import pytest

from kafkalet.storage.cleaner_state import CleanerState, Cleaning, CleaningAborted
from kafkalet.storage.files import Files
from kafkalet.tasks.task import finish

ORDERS, PAYMENTS = ("orders", 0), ("payments", 3)


@pytest.fixture
def state(tmp_path: Path) -> CleanerState:
    return CleanerState(Files(durable=False), str(tmp_path))


def on_disk(tmp_path: Path) -> dict[tuple[str, int], int]:
    return CleanerState(Files(durable=False), str(tmp_path)).offsets


def test_offset_is_written(state: CleanerState, tmp_path: Path) -> None:
    state.set_offset(ORDERS, 7)
    state.set_offset(PAYMENTS, 9)
    assert on_disk(tmp_path) == {ORDERS: 7, PAYMENTS: 9}
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n2\norders 0 7\npayments 3 9\n"


def test_truncation_lowers_the_offset_but_does_not_raise_it(state: CleanerState, tmp_path: Path) -> None:
    state.set_offset(ORDERS, 7)
    state.truncated(ORDERS, 9)
    state.truncated(PAYMENTS, 9)
    assert on_disk(tmp_path) == {ORDERS: 7}
    state.truncated(ORDERS, 3)
    assert on_disk(tmp_path) == {ORDERS: 3}


def test_deleted_log_is_removed(state: CleanerState, tmp_path: Path) -> None:
    state.set_offset(ORDERS, 7)
    state.mark_uncleanable(ORDERS, "it is damaged")
    state.remove(ORDERS)
    assert not state.uncleanable
    assert on_disk(tmp_path) == {}


def test_corrupt_checkpoint_counts_as_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\nnonsense\n")
    assert on_disk(tmp_path) == {}
    assert "cleaner-offset-checkpoint" in caplog.text


def test_entry_moves_to_another_directory(state: CleanerState, tmp_path: Path) -> None:
    other = CleanerState(Files(durable=False))
    state.set_offset(ORDERS, 7)
    state.mark_uncleanable(ORDERS, "it is damaged")
    state.move(ORDERS, other)
    assert (other.offsets, other.uncleanable) == ({ORDERS: 7}, {ORDERS: "it is damaged"})
    assert (on_disk(tmp_path), state.uncleanable) == ({}, {})


def test_aborted_round_runs_no_further_step() -> None:
    cleaning = Cleaning()
    cleaning.abort()
    with pytest.raises(CleaningAborted):
        finish(cleaning.step(lambda: None))


def test_abort_waits_for_the_running_step_and_removes_its_files(state: CleanerState) -> None:
    cleaning = state.in_progress[ORDERS] = Cleaning()
    events: list[str] = []
    cleaning.discard = lambda: events.append("discard")
    running = threading.Event()

    def step() -> None:
        running.set()
        with pytest.raises(CleaningAborted):
            cleaning.pause(60)
        events.append("end of step")

    def run() -> None:
        with pytest.raises(CleaningAborted):
            finish(cleaning.step(step))

    thread = threading.Thread(target=run)
    thread.start()
    running.wait()
    state.abort(ORDERS)
    thread.join()
    assert events == ["end of step", "discard"]
    assert not state.in_progress
