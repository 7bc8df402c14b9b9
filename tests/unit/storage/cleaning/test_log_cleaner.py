"""Tests of the cleaner of a directory: errors, and the retention of compacted logs."""

import errno
from pathlib import Path

import pytest

from kafkalet.storage.cleaning.cleaner import CleanerSettings
from kafkalet.storage.files import Files
from tests.unit.storage.place import bases

from .cleaned_place import COMPACTED, CleanedPlace, run


def test_log_with_corrupt_records_becomes_uncleanable(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab", "ab")
    place.log.roll()
    place.overwrite(61, b"\xff" * 8)
    assert place.clean(roll=False) is None
    assert place.key in place.cleaner.state.uncleanable
    assert "t-0 cannot be cleaned" in caplog.text
    assert place.checkpoint is None
    assert not [name for name in place.names() if name.endswith(".cleaned")]


def test_full_disk_leaves_the_log_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab", "ab")
    place.log.roll()

    def write(fd: int, data: bytes, position: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(type(place.directory.environment.files.system), "write", staticmethod(write))
        found = run(place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()))
    assert found == (place.log, None)
    assert "No space left on device" in caplog.text
    assert place.kept_keys() == "abab"
    assert place.clean(roll=False) is not None
    assert place.kept_keys() == "ab"


def test_too_small_buffer_makes_the_log_uncleanable(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab")
    assert place.clean(CleanerSettings(dedupe_buffer_bytes=10)) is None
    assert "offset map is too small" in place.cleaner.state.uncleanable[place.key]


def test_segments_below_the_log_start_are_deleted_from_compacted_logs(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    for _ in range(3):
        place.put("ab")
        place.log.roll()
    place.log.maybe_increment_log_start_offset(3)
    assert place.cleaner.delete_old_segments() == [place.log]
    assert bases(place.log) == [2, 4, 6]


@pytest.mark.parametrize(("policy", "left"), [({"compact"}, [0, 2]), ({"compact", "delete"}, [2])])
def test_expired_segments_are_deleted_with_both_policies(tmp_path: Path, policy: set[str], left: list[int]) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(cleanup_policy=frozenset(policy), retention_ms=1000))
    place.put("ab")
    place.log.roll()
    place.clock.advance(milliseconds=1001)
    place.cleaner.delete_old_segments()
    assert bases(place.log) == left


def test_logs_that_are_not_compacted_are_left_to_retention(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(cleanup_policy=frozenset({"delete"}), retention_ms=1))
    place.put("ab")
    place.log.roll()
    place.clock.advance(milliseconds=1000)
    assert place.cleaner.delete_old_segments() == []


def test_descriptors_of_the_shared_pool_are_not_used_by_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab", "ab")
    place.log.roll()
    shared, admit, used = place.directory.environment.files, Files.admit, []

    def noted(self: Files, file: object) -> int:
        used.append(self)
        return admit(self, file)  # type: ignore[arg-type]

    steps = place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms())
    step = steps.send(None)
    monkeypatch.setattr(Files, "admit", noted)
    step.function()
    step = steps.send(None)
    monkeypatch.setattr(Files, "admit", noted)
    used.clear()
    step.function()
    assert used
    assert shared not in used
    steps.close()


def test_unexpected_error_makes_the_log_uncleanable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab")

    def fail(self: object, batch: object) -> bool:
        raise IndexError("an error in the code")

    monkeypatch.setattr("kafkalet.storage.cleaning.transactions.CleanedTransactions.read_batch", fail)
    assert place.clean() is None
    assert place.cleaner.state.uncleanable == {place.key: "an error in the code"}
    assert "unexpected error in the log cleaner" in caplog.text


def test_retention_aborts_the_round(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(cleanup_policy=frozenset({"compact", "delete"})))
    place.put("ab")
    place.log.roll()
    place.log.reconfigure(place.log.config._replace(retention_ms=1))
    place.clock.advance(milliseconds=10)
    found = run(place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()), place.log.apply_retention)
    assert found == (place.log, None)
    assert bases(place.log) == [2]


def test_change_of_the_policy_aborts_the_round(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("ab", "ab")
    place.log.roll()
    delete = COMPACTED._replace(cleanup_policy=frozenset({"delete"}))
    found = run(
        place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()), lambda: place.log.reconfigure(delete)
    )
    assert found == (place.log, None)
    assert place.kept_keys() == "abab"
