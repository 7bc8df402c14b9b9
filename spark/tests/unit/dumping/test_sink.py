"""`kafkalet_spark.dumping.sink`: the files of all tasks are reported to the driver, once."""

from pathlib import Path

import pytest

from kafkalet_spark.dumping.dump_files import WrittenFile
from kafkalet_spark.dumping.manifest import read_json
from kafkalet_spark.dumping.shape import DumpShape
from kafkalet_spark.dumping.sink import DumpFiles, FilesWriter, FilesWritten

from .test_dump_files import rows

ANSWERS = "_staging/answers.json"
SHAPE = DumpShape("parquet", "zstd")


def test_files_of_all_tasks_are_listed_in_one_file(tmp_path: Path) -> None:
    writer = FilesWriter(str(tmp_path), ANSWERS, SHAPE)
    one, two = writer.write(iter([rows([0, 1], [0, 1])])), writer.write(iter([rows([5], [0])]))
    writer.commit([one, None, two, FilesWritten(())])
    found = [WrittenFile(*file) for file in read_json(str(tmp_path / ANSWERS))["files"]]
    assert found == [*one.files, *two.files]
    assert [(file.first_offset, file.last_offset) for file in found] == [(0, 0), (1, 1), (5, 5)]


def test_files_of_unreported_attempts_are_not_listed(tmp_path: Path) -> None:
    writer = FilesWriter(str(tmp_path), ANSWERS, SHAPE)
    lost, kept = (writer.write(iter([rows([0], [0])])) for _ in range(2))
    writer.commit([kept])
    assert [WrittenFile(*file) for file in read_json(str(tmp_path / ANSWERS))["files"]] == [*kept.files]
    assert lost.files[0].staged != kept.files[0].staged


def test_empty_input_writes_no_files(tmp_path: Path) -> None:
    writer = FilesWriter(str(tmp_path), ANSWERS, SHAPE)
    writer.commit([])
    assert read_json(str(tmp_path / ANSWERS))["files"] == []


def test_options_determine_the_shape_of_files(tmp_path: Path) -> None:
    shape = {"files": "parquet", "compression": "none", "target": "1000", "dates": "day"}
    source = DumpFiles({"path": str(tmp_path), "answers": ANSWERS, **shape})
    (file,) = source.writer(None, False).write(iter([rows([0], [0])])).files  # type: ignore[arg-type]
    assert (tmp_path / file.staged).read_bytes()[:4] == b"PAR1"
    with pytest.raises(NotImplementedError):
        source.schema()
