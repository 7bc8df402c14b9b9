"""A running broker is detected without touching its lock."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkalet
from kafkalet_spark.logs import running_broker
from kafkalet_spark.logs.running_broker import is_at_rest, is_locked


def test_directory_of_a_running_broker_is_locked(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path):
        assert is_locked(str(tmp_path))
        assert not is_at_rest(str(tmp_path))
    assert not is_locked(str(tmp_path))
    assert is_at_rest(str(tmp_path))


def test_lock_stays_with_the_broker(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path):
        is_locked(str(tmp_path))
        assert is_locked(str(tmp_path))


def test_directory_without_a_lock_file_is_not_locked(tmp_path: Path) -> None:
    assert not is_locked(str(tmp_path))


def test_no_lock_is_seen_without_proc_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_broker, "LOCKS", str(tmp_path / "nothing"))
    with kafkalet.Broker(data_dir=tmp_path / "data"):
        assert not is_locked(str(tmp_path / "data"))
