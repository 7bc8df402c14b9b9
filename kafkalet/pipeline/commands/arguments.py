"""The command line of load, dump and audit, as argparse understands it. It needs no Spark."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NoReturn

from kafkalet.pipeline.dumping.shape import COMPRESSIONS, DATE_FOLDERS

from .settings import READ_OPTIONS, WRITE_OPTIONS, UsageError, add_common, add_format, add_origin

LOAD = """Any Spark source (Parquet, CSV, JSON, ORC, text, a JDBC query, a table) becomes the log of a topic.

Without --value, all columns that are not the key, the timestamp, the partition or the headers become a JSON object;
a table of records, as a dump is one, is taken as it is. `kafkalet serve --data-dir DIR` serves the result."""

DUMP = """Topics become Parquet or JSON Lines in folders topic=.../partition=.../date=YYYY-MM-DD, which Spark and others
read as one table. A run after the first adds what is new; one that was killed is put right by the next."""

AUDIT = """What the bytes of logs say, found without a broker, beside what their indexes and a live broker say."""


class _Parser(ArgumentParser):
    """Says what is wrong to its caller, in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def check_options(self, arguments: Sequence[str]) -> None:
        """Raise UsageError for an option that does not exist. argparse would complain of a missing one first."""
        known = self._option_string_actions
        for argument in arguments:
            name = argument.partition("=")[0]
            if argument == "--":
                return
            if argument.startswith("--") and name not in known:
                raise UsageError(f"unknown option {name}; {_hint(name, known, self.prog)}")


def _hint(given: str, known: Iterable[str], program: str) -> str:
    """What the user may have meant, or where to look."""
    by_word = {name.lstrip("-"): name for name in known}
    close = get_close_matches(given.lstrip("-").replace("_", "-"), by_word, 1)
    return f"did you mean {by_word[close[0]]}?" if close else f"see {program} --help"


def parse(arguments: Sequence[str], program: str) -> Namespace:
    """The command and its options. Raises UsageError, and SystemExit(0) after --help."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    parser = _Parser(prog=program, description="Logs at any size, through Spark.")
    by_name: dict[str, _Parser] = {}
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add_to, usage, summary, description in (
        ("load", _add_load, "INPUT... --data-dir DIR --topic TOPIC", "any Spark source to the logs of a topic", LOAD),
        ("dump", _add_dump, "DIR... --out OUT", "topics to Parquet or JSON Lines; a second run adds what is new", DUMP),
        ("audit", _add_audit, "DIR...", "logs against themselves and against a live broker", AUDIT),
    ):
        command = by_name[name] = commands.add_parser(
            name,
            usage=f"{program} {name} {usage} [OPTION]...",
            help=summary,
            description=description,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_to(command)
        add_common(command)
    if arguments and not arguments[0].startswith("-"):
        if arguments[0] not in by_name:
            raise UsageError(f"unknown command {arguments[0]}; {_hint(arguments[0], by_name, program)}")
        by_name[arguments[0]].check_options(arguments[1:])
    return parser.parse_args(arguments)


def _add_load(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is read")
    group.add_argument("inputs", nargs="*", metavar="INPUT", help="files or folders; with --from table: its name")
    group.add_argument("--from", dest="input_format", metavar="FORMAT", help="a format of Spark (by the name of INPUT)")
    group.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="an option of that format, as header=true"
    )
    group = parser.add_argument_group("which column is what")
    group.add_argument("--key", metavar="COL[,COL]", help="the key; several become a JSON object (none)")
    group.add_argument("--value", metavar="COL[,COL]", help="the value; several become a JSON object (all others)")
    group.add_argument(
        "--timestamp", metavar="COL", help="timestamp, date, milliseconds, or ISO 8601 (the time of the load)"
    )
    group.add_argument("--headers", metavar="COL", help="array<struct<key,value>>, map<string,...>, or a struct (none)")
    group.add_argument("--partition-column", metavar="COL", help="the partition; without it, by murmur2 of the key")
    group.add_argument("--topic-column", metavar="COL", help="the topic, where it is not one for all")
    group = parser.add_argument_group("what is written")
    group.add_argument(
        "--data-dir", required=True, metavar="DIR", help="the log directory, new or of a broker that is down"
    )
    group.add_argument("--topic", metavar="TOPIC", help="the topic of all records, whatever the column topic says")
    group.add_argument("--overwrite", action="store_true", help="replace the topics that are written (they go on)")
    group.add_argument(
        "--sort", choices=("time", "none"), default="time", help="rows in the order of time, or as they come (time)"
    )
    group.add_argument("--log-append-time", action="store_true", help="as --timestamp-type LogAppendTime")
    add_format(group, WRITE_OPTIONS)


def _add_dump(parser: ArgumentParser) -> None:
    add_origin(parser)
    group = parser.add_argument_group("which records")
    group.add_argument(
        "--bootstrap", metavar="HOST:PORT,...", help="a live broker to read from, instead of directories"
    )
    add_format(group, READ_OPTIONS)
    group.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="any option of the source by its name; kafka.* too"
    )
    group = parser.add_argument_group("what is written")
    group.add_argument("--out", required=True, metavar="OUT", help="the folder of the dump, new or of an earlier run")
    group.add_argument("--format", choices=list(COMPRESSIONS), default="parquet", help="(parquet)")
    codecs = "; ".join(f"{name}: {', '.join(codecs)}" for name, codecs in COMPRESSIONS.items())
    group.add_argument("--compression", metavar="CODEC", help=f"{codecs}; the first by default")
    group.add_argument(
        "--target-file-bytes", metavar="SIZE", help="the size that files grow to; smaller ones are merged (128m)"
    )
    group.add_argument(
        "--date-folders", choices=list(DATE_FOLDERS), default="day", help="a folder for each day, month, year (day)"
    )


def _add_audit(parser: ArgumentParser) -> None:
    add_origin(parser, needed=True)
    group = parser.add_argument_group("what is audited")
    group.add_argument("--topic", action="append", default=[], metavar="TOPIC", help="only these; repeatable (all)")
    group.add_argument("--bootstrap", metavar="HOST:PORT,...", help="a live broker of these logs, to be compared with")
    group.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="kafka.*: of the connection to that broker"
    )
    group.add_argument("--timestamps", type=int, metavar="N", help="how many it is asked for in each partition (2000)")
    group.add_argument("--seed", type=int, metavar="N", help="chooses them (0)")
    group.add_argument(
        "--compacted",
        action="append",
        default=[],
        metavar="TOPIC",
        help="missing offsets are compacted ones; repeatable",
    )
    group.add_argument(
        "--max-bytes-per-task", type=int, metavar="BYTES", help="a larger segment gets several tasks (256 MiB)"
    )
    group.add_argument("--heaviest-keys", type=int, metavar="N", help="how many keys are named (20)")
    group.add_argument(
        "--producer-id-expiration-ms", type=int, metavar="MS", help="the broker's producer.id.expiration.ms (a day)"
    )
    group = parser.add_argument_group("what is written")
    group.add_argument(
        "--out", metavar="OUT", help="the folder of facts.parquet, verdict.json and report.html (nothing)"
    )
