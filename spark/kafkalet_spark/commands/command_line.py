"""The command-line parser of load, dump and audit. It does not need Spark.

Options of the data source and the sink, such as `startingOffsets`, become lower-case flags with dashes, such as
`--starting-offsets`. The options below exist only on the command line; all others are in option_table.py.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, HelpFormatter, Namespace, _ArgumentGroup
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, NoReturn

from kafkalet_spark.dumping.shape import COMPRESSIONS, DATE_FOLDERS, TARGET_FILE_BYTES
from kafkalet_spark.option_table import AUDIT, READ, WRITE
from kafkalet_spark.option_types import Option
from kafkalet_spark.progress import STYLES

COMMON = (
    Option("master", "URL", "Spark master (that of spark-submit, or local[*])"),
    Option(
        "conf",
        "K=V",
        "Spark setting; repeatable",
        "Times without a time zone are UTC unless `spark.sql.session.timeZone` is set",
        repeatable=True,
    ),
    Option(
        "dry-run",
        "",
        "show the plan (files, splits, bytes, offsets) and exit",
        "Does not start a JVM for dump and audit",
    ),
    Option(
        "log-level",
        "LEVEL",
        "level of the log on stderr",
        "`debug` includes Spark's log",
        default="info",
        choices=("debug", "info", "warning", "error"),
    ),
    Option(
        "progress",
        "STYLE",
        "`bar`, `lines` or `none`; `auto` is a bar on a terminal, lines otherwise",
        "Lines are logged every five seconds. Finished tasks and records are Spark's numbers, totals those of the "
        "plan. `load` has no totals, and so no bar and no remaining time",
        default="auto",
        choices=STYLES,
    ),
)
"""Options of every command."""

LOAD_INPUT = (
    Option("from", "FORMAT", "Spark format of the input (by the file name)"),
    Option("option", "K=V", "option of that format, such as `header=true`; repeatable", repeatable=True),
)
LOAD_COLUMNS = (
    Option("key", "COL[,COL]", "key: one column unchanged, or several as a JSON object (no key)"),
    Option(
        "value",
        "COL[,COL]",
        "value, likewise (all remaining columns)",
        "A single remaining column is written unchanged, several as a JSON object",
    ),
    Option(
        "timestamp",
        "COL",
        "timestamp: a timestamp, a date, milliseconds since 1970, or one of these as text (the time of the load)",
        "Text is in ISO 8601",
    ),
    Option("headers", "COL", "headers: `array<struct<key,value>>`, a map, or a struct without its null fields (none)"),
    Option("partition-column", "COL", "partition (the murmur2 hash of the key)"),
    Option("topic-column", "COL", "topic, if not all records have the same one"),
)
LOAD_OUTPUT = (
    Option("data-dir", "DIR", "log directory: a new one, or one of a stopped broker", required=True),
    Option("overwrite", "", "replace existing topics (default: append)"),
    Option(
        "sort",
        "ORDER",
        "order of the rows: `time`, or `none` to keep the order of the input",
        default="time",
        choices=("time", "none"),
    ),
    Option("log-append-time", "", "same as `--timestamp-type LogAppendTime`"),
)
"""Options that load has in addition to WRITE."""

DUMP_INPUT = (
    Option("bootstrap", "HOST:PORT,...", "running broker to read from instead of directories"),
    Option(
        "option", "K=V", "any option of the data source by its name, including `kafka.*`; repeatable", repeatable=True
    ),
)
"""Options that dump has in addition to READ."""
DUMP_OUTPUT = (
    Option("out", "OUT", "directory of the dump: a new one, or that of an earlier run", required=True),
    Option("format", "FORMAT", "`parquet` or `jsonl`", default="parquet", choices=tuple(COMPRESSIONS)),
    Option(
        "compression",
        "CODEC",
        "; ".join(f"{name}: {', '.join(codecs)}" for name, codecs in COMPRESSIONS.items()) + " (the first one)",
    ),
    Option(
        "target-file-bytes",
        "SIZE",
        "target size of files; smaller files are merged",
        "Only files of the same run and directory are merged; files of earlier runs are not changed",
        default=f"{TARGET_FILE_BYTES >> 20}m",
    ),
    Option(
        "date-folders",
        "PERIOD",
        "one directory for each day, month or year",
        "`month` and `year` create fewer directories (`month=2013-01`, `year=2013`); `none` creates one for each "
        "partition",
        default="day",
        choices=tuple(DATE_FOLDERS),
    ),
)


class UsageError(Exception):
    """The command line is invalid. The message says why."""


class _Parser(ArgumentParser):
    """An ArgumentParser that raises UsageError instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def check_options(self, arguments: Sequence[str]) -> None:
        """Raise UsageError for unknown options. (argparse would report missing options first.)"""
        known = self._option_string_actions
        for argument in arguments:
            name = argument.partition("=")[0]
            if argument == "--":
                return
            if argument.startswith("--") and name not in known:
                raise UsageError(f"unknown option {name}; {_hint(name, known, self.prog)}")


class _Formatter(HelpFormatter):
    """Fills each paragraph in the width of the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(super(_Formatter, self)._fill_text(each, width, indent) for each in text.split("\n\n"))


def _width() -> int:
    return min(100, get_terminal_size((100, 24)).columns)


def _hint(given: str, known: Iterable[str], program: str) -> str:
    """Suggest a similar name, or --help."""
    by_word = {name.lstrip("-"): name for name in known}
    close = get_close_matches(given.lstrip("-").replace("_", "-"), by_word, 1)
    return f"did you mean {by_word[close[0]]}?" if close else f"see {program} --help"


def parse(arguments: Sequence[str], program: str) -> Namespace:
    """Parse a command and its options. Raises UsageError, and SystemExit(0) after --help."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    parser = _Parser(
        prog=program,
        usage=f"{program} COMMAND [OPTION]...",
        description="Create, export and verify Kafka logs of any size with Spark.",
        epilog=f"{program} COMMAND --help shows the options of a command.",
        formatter_class=_Formatter,
    )
    by_name: dict[str, _Parser] = {}
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", prog=program)
    for name, (add_to, usage, summary, description) in _COMMANDS.items():
        command = by_name[name] = commands.add_parser(
            name,
            usage=fill(f"usage: {program} {name} {usage} [OPTION]...", _width()).removeprefix("usage: "),
            help=summary,
            description=description,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        add_to(command)
        add_options(command.add_argument_group("execution"), COMMON)
    if arguments and not arguments[0].startswith("-"):
        if arguments[0] not in by_name:
            raise UsageError(f"unknown command {arguments[0]}; {_hint(arguments[0], by_name, program)}")
        by_name[arguments[0]].check_options(arguments[1:])
    return parser.parse_args(arguments)


def add_options(group: _ArgumentGroup, options: Iterable[Option]) -> None:
    """Add a flag for each option that is available on the command line."""
    for option in options:
        if not option.flag:
            continue
        text = option.help if option.default is None else f"{option.help} ({option.default})"
        keywords: dict[str, Any] = {"help": text.replace("%", "%%").replace("`", ""), "required": option.required}
        if not option.takes:
            keywords["action"] = "store_true"
        elif option.repeatable:
            keywords |= {"action": "append", "default": [], "metavar": option.takes}
        elif option.choices:
            keywords |= {"choices": option.choices, "default": option.default}
        elif option.parse is int:
            keywords |= {"type": int, "default": option.default_value, "metavar": option.takes}
        else:  # The source and the sink apply their own defaults; they receive only options that were set.
            keywords["metavar"] = option.takes
        group.add_argument(option.flag_name, dest=_attribute(option), **keywords)


def _attribute(option: Option) -> str:
    return option.name.replace("-", "_")


def _add_load(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("input")
    group.add_argument("inputs", nargs="*", metavar="INPUT", help="files or directories; table name for --from table")
    add_options(group, LOAD_INPUT)
    add_options(parser.add_argument_group("columns"), LOAD_COLUMNS)
    add_options(parser.add_argument_group("output"), LOAD_OUTPUT + WRITE)


def _add_dump(parser: ArgumentParser) -> None:
    _add_directories(parser, "*")
    add_options(parser.add_argument_group("records"), DUMP_INPUT + READ)
    add_options(parser.add_argument_group("output"), DUMP_OUTPUT)


def _add_audit(parser: ArgumentParser) -> None:
    _add_directories(parser, "+")
    add_options(parser.add_argument_group("audit"), [option for option in AUDIT if option.name != "out"])
    add_options(parser.add_argument_group("output"), [option for option in AUDIT if option.name == "out"])


def _add_directories(parser: ArgumentParser, how_many: str) -> None:
    group = parser.add_argument_group("input")
    group.add_argument(
        "directories", nargs=how_many, metavar="DIR", help="log directories, or directories of single partitions"
    )


_COMMANDS = {
    "load": (
        _add_load,
        "INPUT... --data-dir DIR --topic TOPIC",
        "write any Spark source to a topic",
        """Write any Spark source (Parquet, CSV, JSON, ORC, text, a JDBC query, a table) to the log of a topic.

Without --value, all remaining columns become a JSON object. A table of records, such as a dump, is loaded unchanged.
`kafkalet serve --data-dir DIR` serves the result.""",
    ),
    "dump": (
        _add_dump,
        "DIR... --out OUT",
        "export topics to Parquet or JSON Lines, incrementally",
        """Export topics to Parquet or JSON Lines in directories topic=.../partition=.../date=YYYY-MM-DD, which Spark
and other tools read as one table. Later runs add new records. The next run repairs a run that was killed.""",
    ),
    "audit": (
        _add_audit,
        "DIR...",
        "verify log directories, optionally against a running broker",
        "Verify batches, indexes, transactions and checkpoints, optionally against a running broker.",
    ),
}


def format_options(parsed: Namespace, options: Iterable[Option]) -> dict[str, str]:
    """Return the options that were set, keyed by name."""
    found = {option.name: getattr(parsed, _attribute(option)) for option in options if option.flag}
    return {name: value for name, value in found.items() if value is not None}


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Parse the K=V values of an option. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} {text}: must have the form K=V")
        found[name.strip()] = value
    return found


def source_options(parsed: Namespace) -> dict[str, str]:
    """Return the options for the data source. Raises UsageError."""
    found = {**pairs("--option", parsed.option), **format_options(parsed, READ)}
    if parsed.bootstrap is not None:
        found["kafka.bootstrap.servers"] = parsed.bootstrap
    if parsed.directories:
        found["paths"] = json.dumps([*map(absolute, parsed.directories)])
    return found


def absolute(path: str) -> str:
    """Make a path absolute, because tasks may run in another directory or on another machine that shares it."""
    return path if path.startswith("file:") else os.path.abspath(path)


def conf(parsed: Namespace) -> dict[str, str]:
    """Return the Spark settings. The user's settings take precedence.

    Times without a zone are interpreted as UTC. Executors send heartbeats often, to keep the progress display current.
    Spark's own log is shown only at level debug: it prints a hundred lines for each failed task, even if the task is
    then retried.
    """
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN" if parsed.log_level == "debug" else "FATAL",
    }
    if parsed.progress != "none":
        settings["spark.executor.heartbeatInterval"] = "2s"
    return settings | pairs("--conf", parsed.conf)
