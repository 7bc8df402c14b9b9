"""The log lines of long recoveries."""

import logging
from pathlib import Path

import pytest

from kafkalet.storage.file_system import DISK
from kafkalet.storage.progress import GIB, INTERVAL_S, RecoveryProgress

from .place import CONFIG, Place


class Watch:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, int]:
    """Two logs with segments of half a GiB, sparse; the second log has been flushed up to its last segment."""
    for name in ("t-0", "t-1"):
        (tmp_path / name).mkdir()
        for offset in (0, 10, 20):
            with open(tmp_path / name / f"{offset:020d}.log", "wb") as file:
                file.truncate(GIB // 2)
    return {str(tmp_path / "t-0"): 0, str(tmp_path / "t-1"): 25}


def test_short_recovery_logs_nothing(logs: dict[str, int], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    progress = RecoveryProgress("data", logs, DISK, Watch())
    progress.advance(GIB)
    progress.log_is_done()
    progress.log_is_done()
    assert not caplog.messages


def test_long_recovery_logs_a_line_at_each_interval(logs: dict[str, int], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watch = Watch()
    progress = RecoveryProgress("data", logs, DISK, watch)
    for _ in range(12):
        watch.s += INTERVAL_S / 4
        progress.advance(GIB // 8)
    progress.log_is_done()
    progress.advance(GIB // 2)
    progress.log_is_done()
    what = "data: recovering after an unclean shutdown:"
    assert caplog.messages == [
        f"{what} 0 of 2 logs, 0.5 of 2.0 GiB",
        f"{what} 0 of 2 logs, 1.0 of 2.0 GiB",
        f"{what} 0 of 2 logs, 1.5 of 2.0 GiB",
        f"{what} 2 of 2 logs, 2.0 of 2.0 GiB",
    ]


def test_missing_directory_counts_as_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watch = Watch()
    progress = RecoveryProgress("data", {str(tmp_path / "none"): 0}, DISK, watch)
    watch.s = INTERVAL_S
    progress.log_is_done()
    assert "1 of 1 logs, 0.0 of 0.0 GiB" in caplog.text


def test_all_bytes_of_a_crashed_log_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(RecoveryProgress, "advance", lambda self, count: counted.append(count))
    place = Place(tmp_path / "data", CONFIG)
    for number in range(3):
        place.append(number)
    place.crash()
    assert sum(counted) == place.log.size_bytes
