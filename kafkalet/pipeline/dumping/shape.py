"""What the files of a dump are like: format and compression, and so the ends of their names."""

from __future__ import annotations

from typing import NamedTuple

COMPRESSIONS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "jsonl": ("none", "gzip", "zstd"),
}
"""By format; the first is the default."""


class Shape(NamedTuple):
    """A format and a compression that it can have."""

    format: str
    compression: str

    @property
    def suffix(self) -> str:
        if self.format == "parquet":
            return ".parquet"
        return ".jsonl" + {"gzip": ".gz", "zstd": ".zst"}.get(self.compression, "")
