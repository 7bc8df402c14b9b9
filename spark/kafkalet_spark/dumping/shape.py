"""The shape of a dump: the format, compression and size of its files, and the layout of its directories."""

from __future__ import annotations

from typing import NamedTuple

COMPRESSIONS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "jsonl": ("none", "gzip", "zstd"),
}
"""The compression types of each format. The first one is the default."""
DATE_FOLDERS = {"day": "date", "month": "month", "year": "year", "none": ""}
"""The column name in the names of date directories, by period."""
TARGET_FILE_BYTES = 128 << 20


class DumpShape(NamedTuple):
    """The format, compression and target size of the files, and the period that a date directory covers."""

    format: str
    compression: str
    target_file_bytes: int = TARGET_FILE_BYTES
    date_folders: str = "day"

    @property
    def suffix(self) -> str:
        if self.format == "parquet":
            return ".parquet"
        return ".jsonl" + {"gzip": ".gz", "zstd": ".zst"}.get(self.compression, "")

    def folder(self, topic: str, partition: int, date: str) -> str:
        """Return the directory for the records of a date. `date` is of the form 2013-01-31, 2013-01 or 2013, or is
        empty."""
        column = DATE_FOLDERS[self.date_folders]
        return f"topic={topic}/partition={partition}" + (f"/{column}={date}" if column else "")
