"""The shape of a dump: the format, compression and size of its files, and the folders they lie in."""

from __future__ import annotations

from typing import NamedTuple

COMPRESSIONS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "jsonl": ("none", "gzip", "zstd"),
}
"""By format; the first is the default."""
DATE_FOLDERS = {"day": "date", "month": "month", "year": "year", "none": ""}
"""The column that a folder by the date of records is named after, by the period it is for."""
TARGET_FILE_BYTES = 128 << 20


class DumpShape(NamedTuple):
    """A format, a compression that it can have, the size that files grow to, and the period of a folder."""

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
        """The folder of the records of a date, which is 2013-01-31, 2013-01, 2013 or nothing."""
        column = DATE_FOLDERS[self.date_folders]
        return f"topic={topic}/partition={partition}" + (f"/{column}={date}" if column else "")
