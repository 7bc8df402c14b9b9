"""The Spark sink that writes the files of a dump, and passes the list of files to the driver.

Spark collects one message from each task, no matter how many times the task was attempted. It calls `commit` with all
messages, in a separate process that knows only the constructor arguments. Therefore, `commit` writes the list of files
to a file in OUT/_staging. Its unique name was chosen by the job that started the query. That job reads the file and
commits the run (dump_runs.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from .dump_files import WrittenFile, write_files
from .dump_runs import STAGING
from .manifest import VERSION, read_json, write_json
from .shape import DumpShape

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

FORMAT = "kafkalet-dump"


@dataclass
class FilesWritten(WriterCommitMessage):
    """The files written by one task attempt."""

    files: tuple[WrittenFile, ...]


class DumpFiles(DataSource):
    """The data source of the sink."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> FilesWriter:
        options = self.options
        shape = DumpShape(options["files"], options["compression"], int(options["target"]), options["dates"])
        return FilesWriter(options["path"], options["answers"], shape)


class FilesWriter(DataSourceArrowWriter):
    """Writes rows, which must have topic, partition, offset and timestamp, and the columns to be written to the
    files."""

    def __init__(self, out: str, answers: str, shape: DumpShape) -> None:
        self._out = out
        self._answers = answers
        self._shape = shape

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FilesWritten:
        return FilesWritten(tuple(write_files(iterator, self._out, STAGING, self._shape)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        files = [file for message in messages if isinstance(message, FilesWritten) for file in message.files]
        os.makedirs(os.path.join(self._out, STAGING), exist_ok=True)
        write_json(os.path.join(self._out, self._answers), {"version": VERSION, "files": files})


def write(table: DataFrame, out: str, shape: DumpShape) -> list[WrittenFile]:
    """Write the rows with Spark, and return the files of all tasks. Raises Spark's exceptions."""
    table.sparkSession.dataSource.register(DumpFiles)
    answers = os.path.join(STAGING, f"{os.urandom(8).hex()}.json")
    options = {
        "answers": answers,
        "files": shape.format,
        "compression": shape.compression,
        "target": str(shape.target_file_bytes),
        "dates": shape.date_folders,
    }
    table.write.format(FORMAT).mode("append").options(**options).save(out)
    return [WrittenFile(*file) for file in read_json(os.path.join(out, answers))["files"]]
