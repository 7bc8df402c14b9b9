"""The command line: `kafkalet serve`, `python3 -m kafkalet serve` and `kafkalet pipeline` (see kafkalet.pipeline).

Exit status: 0 after a normal stop, 1 if something outside kafkalet fails (for example, a port is taken or a file cannot
be loaded), 2 if the command line or a property is invalid. Each failure prints one line on stderr. Once every listener
accepts connections and every file has been loaded, one line is printed to stdout:

    kafkalet ready bootstrap=127.0.0.1:9092

If this line cannot be written (the reader has closed the pipe, or the disk is full), the broker stops with status 1,
because the process that started it cannot learn the address. The broker keeps serving if it was started without stdout
(`>&-`, a daemon), if the reader closes the pipe after the line, and if stderr is closed at any time.

The options are parsed here, not by argparse: importing argparse alone takes a tenth of the broker's start-up time.
"""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.cluster.metadata_store import MetadataDamaged
from kafkalet.broker.cluster.new_topics import NewTopic, check_config
from kafkalet.broker.config.release import UnknownRelease
from kafkalet.broker.network.addresses import CannotListen
from kafkalet.embedded import EmbeddedCluster
from kafkalet.garbage import collected_when_idle
from kafkalet.properties import InvalidProperty, read_properties
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.directory import DirectoryInUse
from kafkalet.storage.environment import StartInterrupted
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.storage.identity import IdentityRefused
from kafkalet.version import VERSION

_LOG = logging.getLogger("kafkalet")

DEFAULT_ADDRESS = ("127.0.0.1", 9092)
# A field in a CSV file may be as large as the largest record.
MAX_FIELD_CHARS = 1 << 30
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class UsageError(Exception):
    """The command line is invalid. The message says why."""


class Failure(Exception):
    """The command failed for a reason outside kafkalet. The message is shown to the user."""


class Option(NamedTuple):
    """An option that takes a value. `help` is the line that describes it in the help text."""

    name: str
    value: str
    help: str
    repeatable: bool = False
    aliases: tuple[str, ...] = ()


SERVE_OPTIONS = (
    Option("--listen", "HOST:PORT", "address to listen on; port 0 picks a free port (127.0.0.1:9092)"),
    Option("--advertise", "HOST:PORT", "address advertised to clients, e.g. behind Docker"),
    Option("--brokers", "N", "number of brokers, on consecutive ports (1)"),
    Option("--topic", "NAME[:PARTITIONS[:KEY=VALUE,...]]", "create a topic if it does not exist; repeatable", True),
    Option("--set", "KEY=VALUE", "set a broker property, by its Kafka name; repeatable", True),
    Option("--config", "FILE", "read broker properties from a server.properties file; repeatable", True),
    Option("--data-dir", "DIR", "directory that keeps the data (a temporary one, removed on exit)"),
    Option(
        "--kafka-version", "VERSION", f"release to emulate: {RELEASES[0]} to {RELEASES[-2]}, or {NEWEST} ({NEWEST})"
    ),
    Option("--log-level", "LEVEL", "debug (a line for each request), info, warning or error (info)"),
    Option("--load", "TOPIC=FILE", "load a JSON Lines or CSV file (plain, .gz or .zip) into a topic; repeatable", True),
    Option("--key", "COL", "CSV column that becomes the record key (none)", aliases=("--key-column",)),
    Option(
        "--timestamp",
        "COL",
        "CSV column that becomes the record timestamp (the time of loading)",
        aliases=("--timestamp-column",),
    ),
)

HELP = """usage: kafkalet serve [OPTION]...
       kafkalet pipeline load|dump|audit [OPTION]...

A Kafka broker that fits inside a test. `kafkalet pipeline` writes, exports and checks its logs
with Spark; see kafkalet pipeline --help. Options of serve, with their defaults in parentheses:

{options}
  -h, --help         show this help and exit
  -V, --version      show the version and exit
"""
COMMANDS = ("serve", "pipeline", "help", "version")
HELP_OPTIONS = ("-h", "--help")
VERSION_OPTIONS = ("-V", "--version")


def help_text() -> str:
    lines = []
    for option in SERVE_OPTIONS:
        left = f"  {option.name} {option.value}"
        lines.append(f"{left}\n{'':21}{option.help}" if len(left) > 19 else f"{left:21}{option.help}")
    return HELP.format(options="\n".join(lines))


def parse(arguments: Sequence[str], options: Sequence[Option]) -> dict[str, list[str]]:
    """Return the values of the options in the order given, keyed by option name without the dashes."""
    known = {name: option for option in options for name in (option.name, *option.aliases)}
    given: dict[str, list[str]] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        option = known.get(name)
        if option is None:
            what = "option" if argument.startswith("-") else "argument"
            raise UsageError(f"unknown {what} {name}; {_hint(name, [option.name for option in options])}")
        if not equals:
            after = next(rest, None)
            if after is None or after in known:
                raise UsageError(f"{name} needs a value: {name} {option.value}")
            value = after
        values = given.setdefault(option.name.lstrip("-"), [])
        if values and not option.repeatable:
            raise UsageError(f"{option.name} is given twice; it takes one value")
        values.append(value)
    return given


def _hint(given: str, known: Sequence[str]) -> str:
    """Suggest the closest known name, or refer to the help."""
    from difflib import get_close_matches

    by_word = {name.lstrip("-"): name for name in known}
    close = get_close_matches(given.lstrip("-").replace("_", "-"), by_word, 1)
    return f"did you mean {by_word[close[0]]}?" if close else "see kafkalet --help"


def parse_address(option: str, text: str, least_port: int = 0) -> tuple[str, int]:
    """Return the host and port from `HOST:PORT`, `:PORT` (every interface) or `[IPV6]:PORT`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not least_port <= int(port) <= 65535:
        raise UsageError(f"{option} {text}: expected HOST:PORT with a port from {least_port} to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_topic(text: str) -> NewTopic:
    """Parse `NAME[:PARTITIONS[:KEY=VALUE,...]]`. A value may contain commas, as in cleanup.policy=compact,delete."""
    name, _, rest = text.partition(":")
    count, _, settings = rest.partition(":")
    if not name:
        raise UsageError(f"--topic {text}: the name is missing; expected NAME[:PARTITIONS[:KEY=VALUE,...]]")
    if count and not (count.isdecimal() and int(count) > 0):
        raise UsageError(f"--topic {text}: {count} is not a number of partitions; expected NAME:PARTITIONS, as in t:3")
    config: dict[str, str] = {}
    key = ""
    for part in settings.split(",") if settings else ():
        before, equals, value = part.partition("=")
        if equals:
            key = before.strip()
            config[key] = value
        elif key:
            config[key] += "," + part
        else:
            raise UsageError(f"--topic {text}: {part} is not KEY=VALUE, as in {name}:1:retention.ms=1000")
    return NewTopic(name, int(count) if count else -1, config)


class Serve(NamedTuple):
    """The options of `serve`."""

    address: tuple[str, int]
    advertise: tuple[str, int] | None
    brokers: int
    topics: list[NewTopic]
    properties: dict[str, str]
    data_dir: str | None
    kafka_version: str
    log_level: str
    loads: list[tuple[str, str]]
    key: str | None
    timestamp: str | None

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Serve":
        given = parse(arguments, SERVE_OPTIONS)
        last = {name: values[-1] for name, values in given.items()}
        properties = _properties(given)
        advertise = last.get("advertise")
        brokers = last.get("brokers", "1")
        level = last.get("log-level", "info").upper()
        if not brokers.isdecimal() or int(brokers) < 1:
            raise UsageError(f"--brokers {brokers}: expected a number of at least 1")
        if level not in LOG_LEVELS:
            raise UsageError(f"--log-level {level.lower()}: expected one of {', '.join(LOG_LEVELS).lower()}")
        for name in ("key", "timestamp"):
            if name in last and "load" not in last:
                raise UsageError(f"--{name} {last[name]}: only applies to files loaded with --load; --load is missing")
        if last.get("data-dir") == "":
            raise UsageError("--data-dir: the directory name is empty")
        return cls(
            parse_address("--listen", last["listen"]) if "listen" in last else _listeners(properties),
            parse_address("--advertise", advertise, 1) if advertise else _advertised_listeners(properties),
            int(brokers),
            _topics(given.get("topic", [])),
            properties,
            last.get("data-dir"),
            last.get("kafka-version", NEWEST),
            level,
            [_split("--load", "TOPIC=FILE", text) for text in given.get("load", [])],
            last.get("key"),
            last.get("timestamp"),
        )


def _topics(texts: Sequence[str]) -> list[NewTopic]:
    topics: dict[str, NewTopic] = {}
    for text in texts:
        topic = parse_topic(text)
        if topic.name in topics:
            raise UsageError(f"--topic {text}: topic {topic.name} is given twice; name each topic once")
        topics[topic.name] = topic
    return list(topics.values())


def _split(option: str, wanted: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} {text}: expected {wanted}")
    return name.strip(), value


def _properties(given: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the properties from the files, then the command line; later values override earlier ones."""
    properties: dict[str, str] = {}
    for path in given.get("config", []):
        try:
            with open(path, encoding="utf-8") as file:
                properties |= read_properties(file.read())
        except (OSError, ValueError) as error:
            raise UsageError(f"--config {path}: {getattr(error, 'strerror', None) or error}") from error
    return properties | dict(_split("--set", "KEY=VALUE", text) for text in given.get("set", []))


def _listeners(properties: Mapping[str, str]) -> tuple[str, int]:
    """Return the first address in the `listeners` property, such as PLAINTEXT://:9092, or the default address."""
    first = properties.get("listeners", "").split(",")[0].strip()
    return parse_address("listeners", first.partition("://")[2] or first) if first else DEFAULT_ADDRESS


def _advertised_listeners(properties: Mapping[str, str]) -> tuple[str, int] | None:
    first = properties.get("advertised.listeners", "").split(",")[0].strip()
    return parse_address("advertised.listeners", first.partition("://")[2] or first, 1) if first else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    if command == "pipeline":
        from kafkalet.pipeline.jobs import main as pipeline

        return pipeline(rest)
    try:
        if command in HELP_OPTIONS or (command in COMMANDS and any(name in rest for name in HELP_OPTIONS)):
            _print(help_text().rstrip("\n"))
            return 0
        if command in ("version", *VERSION_OPTIONS) or (
            command in COMMANDS and any(o in rest for o in VERSION_OPTIONS)
        ):
            _print(f"kafkalet {VERSION}")
            return 0
        if command.startswith("-"):
            raise UsageError(f"{command} must follow a command: kafkalet serve {command} ...")
        if command != "serve":
            raise UsageError(f"unknown command {command}; {_hint(command, COMMANDS)}")
        return serve(Serve.of(rest))
    except (UsageError, InvalidProperty, UnknownRelease) as error:
        return _print_error(error, 2)
    except Failure as error:
        return _print_error(error, 1)


def _print_error(error: Exception, status: int) -> int:
    if sys.stderr is not None:  # None if the process was started without stderr
        with contextlib.suppress(OSError):
            print(f"kafkalet: {error}", file=sys.stderr)
    return status


def _print(text: str) -> None:
    """Print to stdout, if the process has one. Raise Failure if the write fails."""
    if sys.stdout is None:
        return
    try:
        print(text, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # otherwise, the interpreter flushes again at exit and prints a traceback
        raise Failure(f"cannot write to standard output: {error.strerror}") from error


def serve(options: Serve) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP."""
    _keep_standard_descriptors()
    _log_to_stderr(options.log_level)
    _raise_descriptor_limit()
    try:
        cluster = EmbeddedCluster(
            options.brokers,
            host=options.address[0],
            port=options.address[1],
            advertise=options.advertise,
            data_dir=options.data_dir,
            config=options.properties,
            topics=options.topics,
            kafka_version=options.kafka_version,
        )
    except ValueError as error:
        raise UsageError(error) from error
    for topic in options.topics:
        _check_topic(topic, cluster)
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_serve(cluster, options))


def _check_topic(topic: NewTopic, cluster: EmbeddedCluster) -> None:
    """Raise a UsageError that names the --topic option if its topic is invalid."""
    try:
        check_topic_name(topic.name)
        check_config(topic.properties, cluster.server.config)
    except KafkaError as error:
        raise UsageError(f"--topic {topic.name}: {error.message}") from error


async def _serve(cluster: EmbeddedCluster, options: Serve) -> int:
    stopped = _stop_signal(cluster.server.interrupt)
    try:
        await cluster.start()
    except StartInterrupted:
        return 0
    except (StorageFailed, OSError, MetadataDamaged, DirectoryInUse, IdentityRefused) as error:
        raise Failure(_cannot_start(error, options)) from error
    except KafkaError as error:
        raise UsageError(error.message or error.code.name) from error
    try:
        if options.loads and not await _unless_stopped(stopped, _load(cluster, options)):
            return 0
        with collected_when_idle(lambda: cluster.server.is_busy):
            _print(f"kafkalet ready bootstrap={cluster.bootstrap_servers}")
            await stopped.wait()
        return 0
    finally:
        await cluster.stop()


def _cannot_start(error: Exception, options: Serve) -> str:
    if isinstance(error, StorageFailed):
        return error.reason
    if not isinstance(error, OSError):
        return str(error)
    if not isinstance(error, CannotListen):
        return explain(error)
    host, port = options.address
    text = f"cannot listen on {host}:{port}"
    if options.brokers > 1 and port:
        text += f" and the {options.brokers - 1} ports after it" if options.brokers > 2 else f" and {port + 1}"
    in_use = error.errno == errno.EADDRINUSE
    advice = "; choose another address with --listen; port 0 picks a free port" if in_use else ""
    return f"{text}: {error.strerror}{advice}"


async def _unless_stopped(stopped: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Run `work` to completion. Return False if `stopped` is set first; `work` is then cancelled."""
    working = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if working.done():
        working.result()
        return True
    working.cancel()
    await asyncio.wait((working,))
    return False


async def _load(cluster: EmbeddedCluster, options: Serve) -> None:
    import csv

    from kafkalet.broker.seeding.loader import load
    from kafkalet.broker.seeding.record_files import Columns, LoadError

    csv.field_size_limit(MAX_FIELD_CHARS)
    columns = Columns(options.key, options.timestamp)
    if columns != Columns():
        _refuse_columns_without_csv(options)
    for topic, path in options.loads:
        progress = _Progress(topic, path) if sys.stderr is not None and sys.stderr.isatty() else None
        try:
            count = await load(cluster.server, topic, path, columns, progress)
        except (LoadError, KafkaError) as error:
            reason = error.message if isinstance(error, KafkaError) else error
            raise Failure(f"--load {topic}={path}: {reason}" if isinstance(error, KafkaError) else reason) from error
        except OSError as error:
            what = error.strerror if error.filename == path else explain(error)
            raise Failure(f"--load {topic}={path}: {what}") from error
        finally:
            if progress is not None:
                progress.end()
        _LOG.info("loaded %d records from %s into topic %s", count, path, topic)


def _refuse_columns_without_csv(options: Serve) -> None:
    """Raise UsageError if --key or --timestamp is given but no file is CSV: JSON Lines carry both in their fields."""
    from kafkalet.broker.seeding.record_files import LoadError, RecordFile

    with contextlib.suppress(OSError, LoadError):  # the load itself reports what is wrong with the file
        if not any(RecordFile(path).is_csv for _, path in options.loads):
            option, name = ("--key", options.key) if options.key is not None else ("--timestamp", options.timestamp)
            raise UsageError(
                f"{option} {name}: names a CSV column, but no --load file is CSV; "
                f'in JSON Lines, use the field "{option[2:]}"'
            )


class _Progress:
    """A progress line on the terminal that shows how much of a file has been loaded."""

    def __init__(self, topic: str, path: str) -> None:
        self._what = f"loading {path} into {topic}"
        self._shown = -1

    def __call__(self, records: int, part: float) -> None:
        percent = int(part * 100)
        if percent != self._shown:
            self._shown = percent
            self._write(f"\r{self._what}: {records:,} records, {percent} %")

    def end(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone; the load continues without progress
            sys.stderr.write(text)
            sys.stderr.flush()


def _log_to_stderr(level: str) -> None:
    handler = logging.NullHandler() if sys.stderr is None else logging.StreamHandler(sys.stderr)
    logging.basicConfig(handlers=[handler], level=level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")


def _keep_standard_descriptors() -> None:
    """Open /dev/null for each of descriptors 0 to 2 that is closed.

    Otherwise, a log or a socket could get descriptor 2, and text for stderr would be written into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # returns the lowest free descriptor, which is this one


def _stop_signal(interrupt: Callable[[], None]) -> asyncio.Event:
    """Return an event that SIGINT, SIGTERM and SIGHUP set.

    The signal handler also calls `interrupt` directly, so that it can stop a start-up that blocks the loop while it
    opens logs.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        interrupt()
        loop.call_soon_threadsafe(stopped.set)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):  # started by nohup
            continue
        signal.signal(number, stop)
    return stopped


def _raise_descriptor_limit() -> None:
    """Raise the limit on open files and sockets to the maximum that the system allows this process."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
