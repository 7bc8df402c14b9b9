"""Segments are divided only at the beginnings of entries."""

from __future__ import annotations

from pathlib import Path
from struct import pack

from kafkalet_spark.audit.audit_ranges import AuditRange, whole
from kafkalet_spark.audit.audit_tasks import begin, tasks_of
from kafkalet_spark.logs.directory import open_partition

from .audited import entries, make, overwrite, segments


def parts(directory: Path, max_bytes: int) -> list[AuditRange]:
    return [task.stretch for task in tasks_of([begin(open_partition(str(directory)), None)], max_bytes)]


def test_stretches_cover_all_bytes_once(tmp_path: Path) -> None:
    made = make(tmp_path)
    covered: dict[str, int] = {}
    for part in parts(made.place, 400):
        assert part.start == covered.get(part.path, 0)
        assert part.is_first == (part.start == 0)
        covered[part.path] = part.end
    assert covered == {str(path): path.stat().st_size for path in segments(made)}


def test_each_stretch_begins_with_an_entry_and_its_offset(tmp_path: Path) -> None:
    made = make(tmp_path)
    cut = [part for part in parts(made.place, 400) if not part.is_first]
    assert cut
    for part in cut:
        data = Path(part.path).read_bytes()
        assert part.start in {at for at, _ in entries(Path(part.path))}
        assert int.from_bytes(data[part.start : part.start + 8], "big") == part.first_offset


def test_wrong_index_entries_are_not_used(tmp_path: Path) -> None:
    made = make(tmp_path)
    for path in segments(made, ".index"):
        for at in range(0, path.stat().st_size, 8):
            overwrite(path, at + 4, pack(">i", 7 + at))
    assert len(parts(made.place, 100)) == len(segments(made))


def test_segment_without_index_is_not_divided(tmp_path: Path) -> None:
    made = make(tmp_path)
    for path in segments(made, ".index"):
        path.unlink()
    assert len(parts(made.place, 100)) == len(segments(made))


def test_stretches_of_a_segment_can_be_combined(tmp_path: Path) -> None:
    made = make(tmp_path)
    first = segments(made)[0]
    cut = [part for part in parts(made.place, 400) if part.path == str(first)]
    one = whole(cut)
    assert (one.start, one.end, one.is_first, one.is_last) == (0, first.stat().st_size, True, True)


def test_files_of_a_segment_have_its_base_name(tmp_path: Path) -> None:
    part = parts(make(tmp_path).place, 1 << 30)[0]
    assert part.beside(".index") == part.path[:-4] + ".index"
    assert part._replace(path="/x/0.log.swap").beside(".txnindex") == "/x/0.txnindex.swap"
