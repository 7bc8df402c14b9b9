"""Options of the data source and of the sink under names of a command line, and those that all commands have.

An option of the data source (`startingOffsets`) is the same in small letters and with dashes (`--starting-offsets`);
which values it takes is said in options.py and writing/settings.py, and checked there.

Nothing here needs Spark: help is to be had without it.
"""

from __future__ import annotations

import json
import os
import re
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Iterable
from typing import NamedTuple

from kafkalet.pipeline.progress import STYLES

LOG_LEVELS = ("debug", "info", "warning", "error")


class UsageError(Exception):
    """The command line cannot be understood. The text says what is wrong with it."""


class FormatOption(NamedTuple):
    """An option of the data source: its name, what it takes, what it is for."""

    name: str
    value: str
    help: str

    @property
    def flag(self) -> str:
        return "--" + re.sub(r"(?=[A-Z])", "-", self.name).lower()


READ_OPTIONS = (
    FormatOption("subscribe", "TOPIC,...", "these topics; with none of these three, all that are not internal"),
    FormatOption("subscribePattern", "PATTERN", "topics in whose name this pattern, in Java's syntax, is found"),
    FormatOption("assign", "JSON", 'these partitions: {"topic":[0,1]}'),
    FormatOption("startingOffsets", "WHERE", 'earliest (default), or JSON: {"topic":{"0":23,"1":-2}}; -2: earliest'),
    FormatOption("startingTimestamp", "MS", "from the first record at or after this time"),
    FormatOption("startingOffsetsByTimestamp", "JSON", 'the same by partition: {"topic":{"0":1000}}'),
    FormatOption(
        "startingOffsetsByTimestampStrategy", "WHAT", "if no record is at or after it: error (default), latest"
    ),
    FormatOption("endingOffsets", "WHERE", "latest (default), or JSON as above, exclusive; -1: latest"),
    FormatOption("endingTimestamp", "MS", "to the first record at or after this time, exclusive"),
    FormatOption("endingOffsetsByTimestamp", "JSON", "the same by partition"),
    FormatOption("isolationLevel", "LEVEL", "read_uncommitted (default) or read_committed"),
    FormatOption("upTo", "END", "where a directory ends: logEnd (default) or highWatermark"),
    FormatOption("maxBytesPerTask", "SIZE", "the size of a split (128m)"),
    FormatOption("minPartitions", "N", "at least so many splits"),
    FormatOption("maxRecordsPerPartition", "N", "at most so many offsets in a split"),
    FormatOption("includeHeaders", "BOOL", "with the headers of records (true)"),
    FormatOption("includeBatch", "BOOL", "with the columns of the batch (false)"),
    FormatOption("includeControl", "BOOL", "with the markers of transactions (false)"),
    FormatOption("mode", "MODE", "what to do with what cannot be read: FAILFAST (default) or DROPMALFORMED"),
    FormatOption("badRecordsPath", "DIR", "where DROPMALFORMED says what it dropped"),
    FormatOption("failOnDataLoss", "BOOL", "whether offsets that are gone are an error (true)"),
)

WRITE_OPTIONS = (
    FormatOption("partitions", "N", "of a topic that is new (1)"),
    FormatOption("partitionBy", "HOW", "murmur2 of the key, as Java clients, or column, where there is one"),
    FormatOption("batchSize", "SIZE", "bytes of a batch before compression (16k)"),
    FormatOption("batchRecords", "N", "records of a batch, at most"),
    FormatOption("compression", "CODEC", "none (default), gzip, snappy, lz4, zstd"),
    FormatOption("compressionLevel", "N", "the codec's own"),
    FormatOption("timestampType", "TYPE", "CreateTime (default) or LogAppendTime"),
    FormatOption("segmentBytes", "SIZE", "(1g)"),
    FormatOption("segmentMs", "TIME", "(7d)"),
    FormatOption("indexIntervalBytes", "SIZE", "(4096)"),
    FormatOption("leaderEpoch", "N", "(0, or the one that the log has come to)"),
    FormatOption("durable", "BOOL", "forced to the disk before it counts (true)"),
    FormatOption("transactionalShare", "SHARE", "of the batches, 0 to 1, that belong to transactions (0)"),
    FormatOption("abortedShare", "SHARE", "of the transactions that are aborted (0)"),
    FormatOption("openTransactions", "N", "left open at the end of each partition (0)"),
    FormatOption("openShare", "SHARE", "of the transactions under way at the end, left open too (0)"),
    FormatOption("transactionSize", "N", "records after which a transaction ends (100)"),
    FormatOption("producers", "N", "idempotent producers that take turns"),
    FormatOption("producerId", "N", "of the first of them"),
    FormatOption("seed", "N", "of all that is left to chance (0)"),
)


def add_format(group: _ArgumentGroup, options: Iterable[FormatOption]) -> None:
    """Options of the data source, by their flags."""
    for option in options:
        text = option.help.replace("%", "%%")
        group.add_argument(option.flag, dest=option.name, metavar=option.value, help=text)


def format_options(told: Namespace, options: Iterable[FormatOption]) -> dict[str, str]:
    """Those that were given, by their own names."""
    found = {option.name: getattr(told, option.name) for option in options}
    return {name: value for name, value in found.items() if value is not None}


def add_origin(parser: ArgumentParser, *, needed: bool = False) -> None:
    """What is read: directories, or a broker."""
    group = parser.add_argument_group("what is read")
    many = "+" if needed else "*"
    group.add_argument("directories", nargs=many, metavar="DIR", help="log directories, or single ones of partitions")


def add_common(parser: ArgumentParser) -> None:
    """The options of every command."""
    group = parser.add_argument_group("how it runs")
    group.add_argument("--master", metavar="URL", help="Spark's master (spark-submit's, else local[*])")
    group.add_argument("--conf", action="append", default=[], metavar="K=V", help="a setting of Spark; repeatable")
    group.add_argument("--dry-run", action="store_true", help="show the plan, and do nothing")
    group.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="(info)")
    group.add_argument("--progress", choices=STYLES, default="auto", help="(auto: a bar on a terminal, else lines)")


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """The values of an option that takes K=V. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} {text}: not K=V")
        found[name.strip()] = value
    return found


def source_options(told: Namespace) -> dict[str, str]:
    """What the data source is told to read. Raises UsageError."""
    found = {**pairs("--option", told.option), **format_options(told, READ_OPTIONS)}
    if told.bootstrap is not None:
        found["kafka.bootstrap.servers"] = told.bootstrap
    if told.directories:
        found["paths"] = json.dumps([*map(absolute, told.directories)])
    return found


def absolute(path: str) -> str:
    """The path from the root: a task may run in another directory, or on another machine that has it too."""
    return path if path.startswith("file:") else os.path.abspath(path)


def conf(told: Namespace) -> dict[str, str]:
    """Settings of Spark; the user's go before.

    Times without a zone are UTC, and progress is told often. Spark's own log is kept for debugging: of a task that
    fails it has a hundred lines, and it fails again elsewhere or becomes the one line that the user gets to read.
    """
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN" if told.log_level == "debug" else "FATAL",
    }
    if told.progress != "none":
        settings["spark.executor.heartbeatInterval"] = "2s"
    return settings | pairs("--conf", told.conf)
