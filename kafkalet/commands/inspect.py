"""`kafkalet inspect DIR|FILE...`: what is in the files of a broker, and with --verify, whether it is intact.

Nothing is changed, and no broker is needed. Exit status: 0, 1 if --verify found a fault or a file cannot be read, 2 if
the command line is invalid.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kafkalet.formats import Malformed
from kafkalet.inspection import overview, rows, small_files
from kafkalet.inspection.directory_check import check_cluster
from kafkalet.inspection.faults import Finding, Report
from kafkalet.inspection.internal_records import DECODER_OF_TOPIC, Decoder
from kafkalet.inspection.kinds import FileKind, Kind, folder_of, is_partition, kind_of
from kafkalet.inspection.partition_check import check_file, check_partition
from kafkalet.inspection.reading import Entry, ReadOnlyFile, Unreadable, entries
from kafkalet.inspection.rows import FORMATS, Row
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.files import explain
from kafkalet.units import counted, size, utc

from .command_line import HELP_OPTION, Failure, Option, UsageError, print_line, separate
from .tables import data_cell, long_table

OPTIONS = (
    Option("--verify", "", "check all checksums, offsets, records and index entries instead of showing them"),
    Option("--batches", "", "show the batches of a partition (default for a .log file)"),
    Option("--records", "", "show the records of the batches"),
    Option("--offset", "N", "show only the batch, or with --records the record, with this offset"),
    Option("--from", "N", "show only offsets from N on"),
    Option("--to", "N", "show only offsets below N"),
    Option("--limit", "N", "show at most N batches, or with --records N records, of each file"),
    Option("--keys", "FORMAT", f"how keys are shown: {', '.join(FORMATS)} (auto)"),
    Option("--values", "FORMAT", "how values are shown (auto: text if it is printable, otherwise base64)"),
    Option(
        "--decoder", "NAME",
        "decode records: offsets (__consumer_offsets), transactions (__transaction_state), share "
        "(__share_group_state), metadata (__cluster_metadata) or none (default: by the name of the directory)",
    ),
    Option("--json", "", "print JSON Lines instead of tables; timestamps are in milliseconds"),
    HELP_OPTION,
)  # fmt: skip
HELP = """Shows the files of a data directory of kafkalet or Apache Kafka without changing them. No broker is needed.
DIR is a data directory or the directory of a partition. FILE is a .log, .index, .timeindex, .txnindex or .snapshot file
(also .deleted, .cleaned or .swap), a checkpoint, partition.metadata, meta.properties, .kafka_cleanshutdown,
kafkalet.json, quorum-state, or a KRaft metadata snapshot.

Exit status: 0; 1 after a fault or if a file cannot be read; 2 if the command line is wrong."""
MAX_OFFSET = (1 << 63) - 1
TIMES = {
    "base_timestamp",
    "max_timestamp",
    "delete_horizon",
    "timestamp",
    "first_timestamp",
    "last_timestamp",
    "modified",
}


class Settings(NamedTuple):
    """What to show."""

    verify: bool
    batches: bool
    records: bool
    first: int
    """The smallest offset to show."""
    end: int
    """Offsets from this one on are not shown."""
    limit: int | None
    keys: rows.Format
    values: rows.Format
    decoder: Decoder | None
    """None: by the name of the directory."""
    as_json: bool


def main(arguments: Sequence[str]) -> int:
    """Run `kafkalet inspect` and return its exit status. Raises UsageError and Failure."""
    paths, values = separate(arguments, lambda _: (OPTIONS, "inspect"))
    given = {name: each[0] for name, each in values.items()}
    if "help" in given:
        print_line(help_text().rstrip("\n"))
        return 0
    settings = _settings(given)
    if not paths:
        raise UsageError("inspect: the directory or file is missing; see kafkalet inspect --help")
    for path in paths:
        _check_path(path)
    output = _Output(settings.as_json)
    inspecting = _Inspecting(settings, output, several=len(paths) > 1)
    try:
        for path in paths:
            inspecting.inspect(path)
        inspecting.summary()
        output.flush()
    except BrokenPipeError:
        output.abandon()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        raise Failure(explain(error)) from error
    return 1 if inspecting.report.faults or inspecting.failed else 0


def help_text() -> str:
    from .help import help_page

    return help_page("kafkalet inspect [OPTION]... DIR|FILE...", HELP, OPTIONS)


def _settings(given: dict[str, str]) -> Settings:
    first, end = _number(given, "from", 0), _number(given, "to", MAX_OFFSET)
    if "offset" in given:
        if "from" in given or "to" in given:
            raise UsageError("--offset cannot be combined with --from or --to")
        first = _number(given, "offset", 0)
        end = first + 1
    decoder = given.get("decoder")
    if decoder is not None and decoder not in [each.value for each in Decoder]:
        raise UsageError(f"--decoder {decoder}: expected one of {', '.join(each.value for each in Decoder)}")
    shows = {"batches", "records", "offset", "from", "to", "limit", "keys", "values", "decoder"} & given.keys()
    if "verify" in given and shows:
        raise UsageError(f"--verify shows only faults; it cannot be combined with --{min(shows)}")
    return Settings(
        "verify" in given,
        bool({"batches", "offset", "from", "to", "limit"} & given.keys()),
        "records" in given,
        first,
        end,
        _number(given, "limit", 0) if "limit" in given else None,
        _format(given, "keys"),
        _format(given, "values"),
        None if decoder is None else Decoder(decoder),
        "json" in given,
    )


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_OFFSET:
        raise UsageError(f"--{name} {text}: expected a number from 0 to {MAX_OFFSET}")
    return int(text)


def _format(given: dict[str, str], name: str) -> rows.Format:
    text = given.get(name, "auto")
    if text not in FORMATS:
        raise UsageError(f"--{name} {text}: expected one of {', '.join(FORMATS)}")
    return FORMATS[text]


def _check_path(path: str) -> None:
    """Raise UsageError if a path does not exist or is no file or directory that can be shown."""
    if not os.path.exists(path):
        raise UsageError(f"{path}: no such file or directory")
    try:
        if os.path.isdir(path):
            if not is_partition(path) and not overview.is_data_directory(path) and overview.brokers_in(path) == [path]:
                raise UsageError(f"{path}: neither a data directory nor the directory of a partition")
        elif kind_of(path) is None:
            raise UsageError(f"{path}: the name is not that of a file of a data directory; see kafkalet inspect --help")
    except OSError as error:
        raise Failure(explain(error)) from error


class _Output:
    """Lines on stdout: tables, or JSON Lines in which each object has a `type`."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def line(self, text: str = "") -> None:
        if sys.stdout is not None:
            sys.stdout.write(text + "\n")

    def text(self, text: str) -> None:
        """Print a line for people."""
        if not self.as_json:
            self.line(text)

    def object(self, kind: str, row: Row) -> None:
        """Print a JSON object, if JSON is wanted."""
        if self.as_json:
            self.line(json.dumps({"type": kind} | row, ensure_ascii=True))

    def rows(self, kind: str, found: Iterable[Row], columns: Columns, more: Row | None = None) -> None:
        """Print rows. `more` are fields that only the JSON objects have."""
        if self.as_json:
            for row in found:
                self.object(kind, (more or {}) | row)
        else:
            line = "none"
            for line in long_table([name for name, _ in columns], ([of(row) for _, of in columns] for row in found)):
                self.line(line)
            if line == "none":
                self.line(line)

    def flush(self) -> None:
        if sys.stdout is not None:
            sys.stdout.flush()

    def abandon(self) -> None:
        """Let nothing more be written: the reader of the pipe has ended."""
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)


class _Inspecting:
    def __init__(self, settings: Settings, output: _Output, *, several: bool) -> None:
        self.settings = settings
        self.output = output
        self.several = several
        self.failed = False
        self.report = Report(self._finding)
        self.progress = _Progress()

    def inspect(self, path: str) -> None:
        settings = self.settings
        if settings.verify:
            self._verify(path)
            return
        if self.several:
            self.output.text(f"== {path}")
        if os.path.isdir(path):
            if not is_partition(path):
                self._data_directories(path)
            elif settings.batches or settings.records:
                for file in overview.segments_in(overview.files_in(path)):
                    self.output.text(file.path)
                    self._log(file.path, file.kind)
            else:
                self._partition(path)
        else:
            kind = kind_of(path)
            assert kind is not None
            self._file(path, kind)
        if self.several:
            self.output.text("")

    # Faults

    def _verify(self, path: str) -> None:
        if not os.path.isdir(path):
            kind = kind_of(path)
            assert kind is not None
            check_file(path, kind, self.report, self.progress)
        elif is_partition(path):
            check_partition(path, self.report, progress=self.progress)
        else:
            check_cluster(path, self.report, self.progress)

    def _finding(self, finding: Finding) -> None:
        self.progress.clear()
        severity, path, position, check, message = finding
        self.output.object(severity.value, {"file": path, "position": position, "check": check, "message": message})
        self.output.text(f"{severity.value}: {finding}")

    def summary(self) -> None:
        """Print what was checked."""
        if not self.settings.verify:
            return
        self.progress.clear()
        report = self.report
        names = ("files", "bytes", "batches", "records", "faults", "notes")
        self.output.object("summary", {name: getattr(report, name) for name in names})
        texts = [
            counted(report.files, "file"),
            size(report.bytes),
            counted(report.batches, "batch", "batches"),
            *(counted(getattr(report, f"{noun}s"), noun) for noun in ("record", "fault", "note")),
        ]
        self.output.text(", ".join(texts))

    # Directories

    def _data_directories(self, path: str) -> None:
        for directory in overview.brokers_in(path):
            found = overview.read_data_directory(directory)
            properties = found.properties or {}
            self.output.object(
                "directory",
                {
                    "path": directory,
                    "clean_shutdown": found.is_clean,
                    "properties": found.properties,
                    "partitions": len(found.partitions),
                },
            )
            closed = "closed cleanly" if found.is_clean else "in use, or not closed cleanly"
            texts = [f"{name}={value}" for name, value in properties.items()]
            self.output.text(f"{directory}: {closed}, {counted(len(found.partitions), 'partition')}")
            if texts:
                self.output.text(f"meta.properties: {' '.join(texts)}")
            empty: Counter[str] = Counter()
            partitions = (overview.partition_row(each, found) for each in found.partitions)
            if not self.output.as_json:
                partitions = (each for each in partitions if not _is_left_out(each, empty))
            self.output.rows("partition", partitions, PARTITION_COLUMNS, {"path": directory})
            for topic, count in (+empty).items():
                self.output.text(f"{counted(count, 'partition')} of {topic} without records")

    def _partition(self, path: str) -> None:
        files = overview.files_in(path)
        row = overview.partition_row(path)
        self.output.object("partition", {"path": path} | row)
        self.output.text(
            f"{path}: offsets {_shown(row['log_start_offset'])} to {_shown(row['log_end_offset'])}, "
            f"topic id {_shown(row['topic_id'])}"
        )
        segments = (overview.segment_row(file) for file in overview.segments_in(files))
        self.output.rows("segment", segments, SEGMENT_COLUMNS, {"path": path})
        self.output.text("")
        self.output.rows("file", overview.other_files(files), FILE_COLUMNS, {"path": path})
        for file in files:
            empty = file.kind.kind is Kind.TXN_INDEX and not os.path.getsize(file.path)
            if file.kind.kind in (Kind.LEADER_EPOCHS, Kind.TXN_INDEX, Kind.SNAPSHOT) and not empty:
                self.output.text(f"\n{os.path.basename(file.path)}")
                self._small_file(file.path, file.kind)

    # Files

    def _file(self, path: str, kind: FileKind) -> None:
        if kind.kind in (Kind.LOG, Kind.METADATA_SNAPSHOT):
            self._log(path, kind)
        else:
            self._small_file(path, kind)

    def _small_file(self, path: str, kind: FileKind) -> None:
        try:
            found: Iterable[Row] = small_files.rows_of(path, kind)
        except Malformed as error:
            self.failed = True
            self.output.object("fault", {"file": path, "position": error.position, "message": error.reason})
            self.output.text(f"{path} at byte {error.position}: {error.reason}")
            return
        name = TYPE_NAMES[kind.kind]
        if kind.kind in JSON_FILES and not self.output.as_json:
            for row in found:
                self.output.text(json.dumps(row, indent=2, ensure_ascii=False))
            return
        self.output.rows(name, found, SMALL_COLUMNS.get(kind.kind, ()), {"file": path})

    def _log(self, path: str, kind: FileKind) -> None:
        settings = self.settings
        with ReadOnlyFile(path) as file:
            found = _in_range(file, settings.first, settings.end)
            if settings.records:
                decoder = Decoder.METADATA if kind.kind is Kind.METADATA_SNAPSHOT else _decoder_of(path)
                if settings.decoder is not None:
                    decoder = settings.decoder
                self.output.rows(
                    "record",
                    islice(self._records(path, found, decoder), settings.limit),
                    RECORD_COLUMNS,
                    {"file": path},
                )
            else:
                self.output.rows(
                    "batch", islice(self._batches(path, found), settings.limit), BATCH_COLUMNS, {"file": path}
                )

    def _batches(self, path: str, found: Iterable[Entry | Unreadable]) -> Iterator[Row]:
        for entry in found:
            if isinstance(entry, Unreadable):
                self._unreadable(path, entry)
            else:
                yield rows.batch_row(*entry)

    def _records(self, path: str, found: Iterable[Entry | Unreadable], decoder: Decoder) -> Iterator[Row]:
        settings = self.settings
        for entry in found:
            if isinstance(entry, Unreadable):
                self._unreadable(path, entry)
                continue
            position, batch = entry
            try:
                for index, record in enumerate(batch.iterate()):
                    if settings.first <= record.offset < settings.end:
                        yield {"batch": position} | rows.record_row(
                            record, batch, index, settings.keys, settings.values, decoder
                        )
            except KafkaError as error:
                reason = error.message or error.code.name
                self._unreadable(path, Unreadable(position, position + batch.size, reason))

    def _unreadable(self, path: str, found: Unreadable) -> None:
        self.failed = True
        position, end, reason = found
        self.output.object("unreadable", {"file": path, "position": position, "end": end, "message": reason})
        self.output.text(f"{path}: bytes {position} to {end} cannot be read: {reason}")


def _is_left_out(partition: Row, empty: Counter[str]) -> bool:
    """Return whether a partition of an internal topic is empty, and count it if so."""
    topic = partition["partition"].rpartition("-")[0]
    is_left_out = topic in DECODER_OF_TOPIC and partition["log_start_offset"] == partition["log_end_offset"]
    empty[topic] += is_left_out
    return is_left_out


def _in_range(file: ReadOnlyFile, first: int, end: int) -> Iterator[Entry | Unreadable]:
    """Iterate over the entries with offsets from `first` up to, but not including, `end`."""
    position = 0
    if first > 0:
        for entry in entries(file, heads=True):
            if not isinstance(entry, Unreadable) and entry.batch.last_offset >= first:
                position = entry.position
                break
        else:
            return
    for entry in entries(file, position):
        if not isinstance(entry, Unreadable):
            if entry.batch.magic >= 2 and entry.batch.base_offset >= end:
                return
            if entry.batch.last_offset < first:
                continue
        yield entry
        if not isinstance(entry, Unreadable) and entry.batch.last_offset + 1 >= end:
            return


def _decoder_of(path: str) -> Decoder:
    folder = folder_of(os.path.dirname(os.path.abspath(path)))
    return DECODER_OF_TOPIC.get(folder.topic, Decoder.NONE) if folder else Decoder.NONE


class _Progress:
    """Shows once a second, on a terminal, how much has been read."""

    def __init__(self) -> None:
        self.read_bytes = 0
        self.is_shown = False
        self.enabled = sys.stderr is not None and sys.stderr.isatty()
        self.last = time.monotonic()

    def __call__(self, size_bytes: int) -> None:
        self.read_bytes += size_bytes
        if self.enabled and time.monotonic() - self.last > 1:
            self.last = time.monotonic()
            self.is_shown = True
            self._write(f"{size(self.read_bytes)} read")

    def clear(self) -> None:
        if self.is_shown:
            self.is_shown = False
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


# Columns

Columns = Sequence[tuple[str, Callable[[Row], Any]]]


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)


def _time(value: int | None) -> str | None:
    """Return a timestamp as text; None if there is none."""
    return None if value is None or value < 0 else utc(value)


def _field(name: str) -> Callable[[Row], Any]:
    if name == "size":
        return lambda row: size(row[name])
    return (lambda row: _time(row[name])) if name in TIMES else (lambda row: row[name])


def _columns(*names: str) -> Columns:
    return [(name.replace("_", " ").upper(), _field(name)) for name in names]


def _none_if_negative(name: str) -> Callable[[Row], Any]:
    return lambda row: None if row[name] is None or row[name] < 0 else row[name]


def _transaction(row: Row) -> str | None:
    if row["control"] is not None:
        epoch = row["coordinator_epoch"]
        return f"{row['control']}" if epoch is None else f"{row['control']} by coordinator epoch {epoch}"
    return "transactional" if row["transactional"] else None


def _json_cell(name: str) -> Callable[[Row], Any]:
    def of(row: Row) -> Any:
        value = row[name]
        if isinstance(value, dict) and value.keys() == {"base64"}:
            return data_cell(value["base64"], "base64")
        if isinstance(value, str):
            return data_cell(value)
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value

    return of


BATCH_COLUMNS: Columns = [
    *_columns("position"),
    ("SIZE", lambda row: f"{row['size']} B"),  # exact, because the next position follows from it
    *_columns("base_offset", "last_offset", "count"),
    ("FORMAT", _field("magic")),
    ("CODEC", lambda row: None if row["codec"] == "none" else row["codec"]),
    ("BASE TIME", _field("base_timestamp")),
    ("MAX TIME", _field("max_timestamp")),
    ("TIME OF", lambda row: None if row["timestamp_type"] == "create" else row["timestamp_type"]),
    ("DELETE HORIZON", _field("delete_horizon")),
    ("PRODUCER", _none_if_negative("producer_id")),
    ("EPOCH", _none_if_negative("producer_epoch")),
    ("SEQUENCE", _none_if_negative("base_sequence")),
    ("TRANSACTION", _transaction),
    ("LEADER EPOCH", _none_if_negative("leader_epoch")),
    ("CRC", lambda row: "ok" if row["crc_valid"] else "WRONG"),
]
RECORD_COLUMNS: Columns = [
    *_columns("offset", "timestamp", "sequence"),
    ("RECORD", lambda row: row.get("record")),
    ("KEY", _json_cell("key")),
    ("VALUE", _json_cell("value")),
    ("HEADERS", lambda row: _json_cell("headers")(row) if row["headers"] else None),
]
PARTITION_COLUMNS = _columns(
    *("partition", "segments", "size", "log_start_offset", "log_end_offset", "high_watermark", "recovery_point"),
    *("last_timestamp", "modified", "topic_id"),
)
SEGMENT_COLUMNS: Columns = [
    *_columns("segment", "size", "first_offset", "last_offset", "batches", "records"),
    ("CODECS", _field("codecs")),
    ("FORMATS", _field("formats")),
    *((name.replace("_", " ").upper(), lambda row, name=name: row[name] or None) for name in (
        "producers", "transactional_batches", "control_batches")),
    *_columns("first_timestamp", "last_timestamp", "modified"),
    ("UNREADABLE BYTES", lambda row: row["unreadable_bytes"] or None),
]  # fmt: skip
FILE_COLUMNS = _columns("name", "size", "entries")
TYPE_NAMES = {
    Kind.OFFSET_INDEX: "offset_index_entry",
    Kind.TIME_INDEX: "time_index_entry",
    Kind.TXN_INDEX: "aborted_transaction",
    Kind.SNAPSHOT: "producer",
    Kind.OFFSETS: "checkpoint_entry",
    Kind.LEADER_EPOCHS: "leader_epoch",
    Kind.PARTITION_METADATA: "partition_metadata",
    Kind.META_PROPERTIES: "property",
    Kind.CLEAN_SHUTDOWN: "clean_shutdown",
    Kind.KAFKALET_JSON: "kafkalet_json",
    Kind.QUORUM_STATE: "quorum_state",
}
"""The `type` of the JSON objects of each kind of file."""
JSON_FILES = (Kind.KAFKALET_JSON, Kind.CLEAN_SHUTDOWN, Kind.QUORUM_STATE)
SMALL_COLUMNS: dict[Kind, Columns] = {
    Kind.OFFSET_INDEX: _columns("at", "offset", "position"),
    Kind.TIME_INDEX: _columns("at", "timestamp", "offset"),
    Kind.TXN_INDEX: _columns("at", "producer_id", "first_offset", "last_offset", "last_stable_offset"),
    Kind.SNAPSHOT: _columns(
        *("producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp"),
        *("coordinator_epoch", "first_offset"),
    ),
    Kind.OFFSETS: _columns("topic", "partition", "offset"),
    Kind.LEADER_EPOCHS: _columns("epoch", "start_offset"),
    Kind.PARTITION_METADATA: _columns("topic_id"),
    Kind.META_PROPERTIES: _columns("property", "value"),
}
