"""What the logs of a directory share."""

from pathlib import Path

from kafkalet.clock import ManualClock
from kafkalet.storage.files import Files
from kafkalet.storage.ground import Ground


def test_a_ground_is_there_before_any_log(tmp_path: Path) -> None:
    ground = Ground(Files(durable=False), ManualClock())
    assert ground.files.open_count == 0


def test_nobody_has_to_listen_for_truncations() -> None:
    Ground(Files(durable=False), ManualClock()).truncated()


def test_who_listens_is_told_of_truncations() -> None:
    told: list[str] = []
    Ground(Files(durable=False), ManualClock(), lambda: told.append("truncated")).truncated()
    assert told == ["truncated"]
