"""Files with one record per line: JSON Lines or CSV, either plain, in a .gz, or as the only file in a .zip.

JSON Lines: each line is an object with any of these fields:

    key, value     a string is stored as UTF-8, null as null, any other value as compact JSON
    headers        {"name": value, ...}, or [["name", value], ...] for repeated names; values as above
    timestamp      milliseconds since 1970, or ISO 8601 ("2013-01-01T05:00:00Z"; UTC if no zone is given)
    partition      the partition number

CSV: a header line, then rows, each of which is stored as a JSON object of strings. One column may be chosen as the key
and one as the timestamp. Both columns stay in the value, too. An empty field means that the record has no key or no
timestamp. Keys and timestamps are the same as those that `kafkalet-spark load` creates from the same columns.

The format is recognized by the file name (.csv, .json, .jsonl or .ndjson, optionally followed by .gz or .zip), or
otherwise by the first character. An invalid line raises LoadError, which names the file and the line.
"""

import csv
import datetime
import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from operator import add
from typing import Any, NamedTuple

from kafkalet.units import counted

MAX_LINE_BYTES = 64 << 20
FIELDS = frozenset({"key", "value", "headers", "timestamp", "partition"})
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_MAX_LONG = (1 << 63) - 1


class LoadError(Exception):
    """The file cannot be loaded. The message names the file, the line if known, and the reason."""

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line is not None else f"{path}: {reason}")


class Columns(NamedTuple):
    """The columns of a CSV file that become the key and the timestamp."""

    key: str | None = None
    timestamp: str | None = None


class FileRecord(NamedTuple):
    """A record in a file. Missing values are None."""

    line: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int | None = None


class _InvalidLine(ValueError):
    """A line is invalid. The message gives the reason."""


class RecordFile:
    """A file of records. It can be iterated over once. Raises LoadError, and OSError if it cannot be read."""

    def __init__(self, path: str, columns: Columns = Columns()) -> None:  # noqa: B008 - an immutable value
        self.path = path
        self.columns = columns
        self._size = os.path.getsize(path)
        self._raw: io.BufferedReader | None = None

    @property
    def progress(self) -> float:
        """The fraction of the file that has been read, from 0 to 1."""
        if self._raw is None or self._raw.closed:
            return 1.0
        return self._raw.tell() / (self._size or 1)

    @property
    def is_csv(self) -> bool:
        """Whether the file is CSV rather than JSON Lines."""
        with self._unpacked() as (name, file):
            return _is_csv(name, file)

    def __iter__(self) -> Iterator[FileRecord]:
        with self._unpacked() as (name, file):
            yield from self._rows(file) if _is_csv(name, file) else self._json_lines(file)

    @contextmanager
    def _unpacked(self) -> Iterator[tuple[str, io.BufferedReader]]:
        """Open the file; return its name without .gz or .zip, and the uncompressed file."""
        with open(self.path, "rb") as raw:
            self._raw = raw
            try:
                name, file = self._inside(raw)
                with file:
                    yield name, file
            except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError) as error:
                raise LoadError(self.path, None, f"cannot be decompressed: {error}") from error

    def _inside(self, raw: io.BufferedReader) -> tuple[str, io.BufferedReader]:
        name = self.path.lower()
        if name.endswith(".gz"):
            return name[:-3], io.BufferedReader(gzip.GzipFile(fileobj=raw))
        if not name.endswith(".zip"):
            return name, raw
        archive = zipfile.ZipFile(raw)
        inside = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(inside) != 1:
            raise LoadError(self.path, None, f"contains {counted(len(inside), 'file')}; expected exactly one")
        return inside[0].filename.lower(), io.BufferedReader(archive.open(inside[0]))  # type: ignore[arg-type]

    def _lines(self, file: io.BufferedReader) -> Iterator[tuple[int, str]]:
        """Iterate over the lines and their numbers, starting at 1."""
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise LoadError(self.path, number, f"is longer than {MAX_LINE_BYTES >> 20} MiB")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise LoadError(self.path, number, f"is not UTF-8: {error.reason} at byte {error.start}") from None

    def _json_lines(self, file: io.BufferedReader) -> Iterator[FileRecord]:
        decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
        for number, line in self._lines(file):
            if line.isspace():
                continue
            try:
                yield _from_json(number, decode(line.rstrip()))
            except json.JSONDecodeError as error:
                raise LoadError(self.path, number, f"is not JSON: {error.msg} at column {error.colno}") from None
            except (UnicodeEncodeError, RecursionError) as error:
                raise LoadError(self.path, number, f"cannot be stored: {error}") from None
            except ValueError as error:
                raise LoadError(self.path, number, str(error)) from None

    def _rows(self, file: io.BufferedReader) -> Iterator[FileRecord]:
        reader = csv.reader((line for _, line in self._lines(file)), strict=True)
        line = 1
        try:
            names = next(reader, [])
            key, timestamp = (self._column(names, name) for name in self.columns)
            if len(set(names)) != len(names):
                raise _InvalidLine("two columns have the same name")
            line = reader.line_num + 1
            fields = [_compact_text(name) + ":" for name in names]
            for row in reader:
                if row:
                    if len(row) != len(names):
                        raise _InvalidLine(f"has {len(row)} fields, but the header has {len(names)}")
                    yield FileRecord(
                        line,
                        row[key].encode() if key is not None and row[key] else None,
                        ("{" + ",".join(map(add, fields, map(_quoted, row))) + "}").encode(),
                        (),
                        _timestamp(row[timestamp]) if timestamp is not None and row[timestamp] else None,
                    )
                line = reader.line_num + 1
        except (csv.Error, _InvalidLine) as error:
            raise LoadError(self.path, line, str(error)) from None

    def _column(self, names: list[str], name: str | None) -> int | None:
        if name is not None and name not in names:
            raise _InvalidLine(f"there is no column {name}; the columns are {', '.join(names)}")
        return None if name is None else names.index(name)


def _is_csv(name: str, file: io.BufferedReader) -> bool:
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return False
    first = file.peek(1 << 10).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return name.endswith(".csv") or first not in (b"{", b"[", b"")


def _refuse_constant(name: str) -> None:
    raise _InvalidLine(f"{name} is not JSON")


def _from_json(line: int, entry: Any) -> FileRecord:
    if not isinstance(entry, dict):
        raise _InvalidLine("is not a JSON object")
    if unknown := entry.keys() - FIELDS:
        raise _InvalidLine(
            f"has an unknown field {min(unknown)}; a record has key, value, headers, timestamp and partition"
        )
    timestamp, partition = entry.get("timestamp"), entry.get("partition")
    if partition is not None and (type(partition) is not int or partition < 0):
        raise _InvalidLine(f"partition {json.dumps(partition)} is not a number of at least 0")
    return FileRecord(
        line,
        _content(entry.get("key")),
        _content(entry.get("value")),
        _headers(entry.get("headers")),
        None if timestamp is None else _timestamp(timestamp),
        partition,
    )


def _content(value: Any) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else _compact_text(value)).encode()


_quoted = json.encoder.encode_basestring
_compact_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _headers(headers: Any) -> tuple[tuple[str, bytes | None], ...]:
    if headers is None:
        return ()
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    named = isinstance(pairs, list) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    )
    if not named:
        raise _InvalidLine('headers must be {"name": value} or [["name", value]]')
    return tuple((name, _content(value)) for name, value in pairs)


def _timestamp(value: Any) -> int:
    """Return a timestamp in milliseconds since 1970."""
    if isinstance(value, str):
        ms = _parse_timestamp(value)
        if ms is not None:
            return ms
    elif type(value) is int and 0 <= value <= _MAX_LONG:
        return value
    raise _InvalidLine(f"timestamp {json.dumps(value)} is neither milliseconds since 1970 nor ISO 8601")


def _parse_timestamp(text: str) -> int | None:
    text = text.strip()
    if text.isdecimal() and text.isascii():
        return int(text) if len(text) < 20 and int(text) <= _MAX_LONG else None
    try:
        moment = datetime.datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return (moment - _EPOCH) // _MILLISECOND if moment >= _EPOCH else None
    except (ValueError, OverflowError):
        return None
