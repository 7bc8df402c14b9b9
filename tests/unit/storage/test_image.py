"""The image of a data directory: the files of a running broker, as they would be if it had been stopped."""

from pathlib import Path

import pytest

from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.image import StoredFile, erase, image_of, write_image
from kafkalet.storage.log import Log

from .place import CONFIG, Place, four
from .producing import T0

TWO_SEGMENTS = CONFIG._replace(segment_bytes=400, index_interval_bytes=0)
FIELDS = {"producer_id": 7, "producer_epoch": 0, "transactional": True}


def filled(path: Path) -> Place:
    """Return a place whose log has several segments, an aborted and an open transaction, and late timestamps."""
    place = Place(path, TWO_SEGMENTS)
    for time in (0, 5000, 3000, 9000, 100):
        place.append(time, time + 1)
    place.append(1, base_sequence=0, **FIELDS)
    place.end_transaction(7, commit=False)
    place.append(2, base_sequence=1, **FIELDS)
    place.log.maybe_increment_log_start_offset(3)
    return place


def files_in(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def state(log: Log) -> list[object]:
    producers = [(entry.producer_id, entry.last_sequence, entry.open_since) for entry in log.active_producers()]
    return [four(log), log.epochs.entries, producers, log.segments.base_offsets]


def test_image_equals_a_cleanly_stopped_directory(tmp_path: Path) -> None:
    place = filled(tmp_path / "data")
    image = {name: stored.data for name, stored in image_of(place.directory).items()}
    place.directory.close()
    left = files_in(tmp_path / "data")
    earlier = {name for name in left if name.endswith(".snapshot")} - image.keys()
    assert len(earlier) == len(place.log.segments) - 1, "snapshots of earlier segments are not needed"
    assert image == {name: data for name, data in left.items() if name not in {".lock", *earlier}}


def test_written_image_is_opened_as_after_a_clean_stop(tmp_path: Path) -> None:
    place = filled(tmp_path / "data")
    before, entries = state(place.log), place.offsets()
    write_image(str(tmp_path / "copy"), image_of(place.directory))
    copy = Place(tmp_path / "copy", TWO_SEGMENTS)
    assert (state(copy.log), copy.offsets()) == (before, entries)
    for one in (place, copy):
        one.append(3, base_sequence=2, **FIELDS)
        one.end_transaction(7, commit=True)
    assert state(copy.log) == state(place.log)
    for one in (place, copy):
        one.directory.close(discard=True)


def test_taking_an_image_changes_no_file(tmp_path: Path) -> None:
    place = filled(tmp_path / "data")
    before = files_in(tmp_path / "data")
    image_of(place.directory)
    assert files_in(tmp_path / "data") == before
    place.directory.close(discard=True)


def test_log_that_is_not_open_is_copied_from_its_files(tmp_path: Path) -> None:
    place = filled(tmp_path / "data")
    place.directory.close()
    directory = LogDirectory(str(tmp_path / "data"), place.clock, durable=False)
    image = {name: stored.data for name, stored in image_of(directory).items() if "/" in name}
    directory.close(discard=True)
    assert image == {name: data for name, data in files_in(tmp_path / "data").items() if "/" in name}


def test_time_of_last_modification_is_kept(tmp_path: Path) -> None:
    write_image(str(tmp_path), {"t-0/1.log": StoredFile(b"x", T0)})
    assert (tmp_path / "t-0" / "1.log").stat().st_mtime_ns == T0 * 1_000_000


def test_erase_removes_logs_and_checkpoints_only(tmp_path: Path) -> None:
    place = filled(tmp_path / "data")
    place.directory.close()
    kept = [tmp_path / "data" / name for name in ("meta.properties", "notes.txt")]
    for path in kept:
        path.write_text("x")
    (tmp_path / "data" / "t-1.0123-delete").mkdir()
    erase(str(tmp_path / "data"))
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [".lock", "meta.properties", "notes.txt"]
    erase(str(tmp_path / "missing"))


@pytest.mark.parametrize("durable", [True, False])
def test_log_without_records_needs_no_file(tmp_path: Path, durable: bool) -> None:
    place = Place(tmp_path / "data", durable=durable)
    assert not [name for name in image_of(place.directory) if "/" in name]
    place.directory.close(discard=True)
