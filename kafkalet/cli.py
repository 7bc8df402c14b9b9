"""The command line: `kafkalet serve`, `python3 -m kafkalet serve`; `kafkalet pipeline`, which has one of its own.

Exit status: 0 after a clean end, 1 when something outside stands in the way (a taken port, a file that cannot be
loaded), 2 when the command line or a property is wrong. Each failure is one line on stderr. On stdout there is one
line, when every listener accepts and every file is loaded:

    kafkalet ready bootstrap=127.0.0.1:9092

The options are parsed here and not by argparse, whose import alone costs a tenth of the time in which a broker starts.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import NamedTuple

from kafkalet.broker.addresses import CannotListen
from kafkalet.broker.cluster import Cluster
from kafkalet.broker.home import HomeDamaged
from kafkalet.broker.new_topics import NewTopic
from kafkalet.broker.release import UnknownRelease
from kafkalet.properties import InvalidProperty, read_properties
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.directory import DirectoryInUse
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.storage.ground import StartInterrupted
from kafkalet.storage.identity import IdentityRefused
from kafkalet.version import VERSION

_LOG = logging.getLogger("kafkalet")

DEFAULT_ADDRESS = ("127.0.0.1", 9092)
# A column of a CSV file may be as large as a record may become.
MAX_FIELD_CHARS = 1 << 30
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class UsageError(Exception):
    """The command line cannot be understood. The text says what is wrong with it."""


class Failure(Exception):
    """Something outside stands in the way. The text is what the user gets to read."""


class Option(NamedTuple):
    """An option that takes a value. `help` says what it is for."""

    name: str
    value: str
    help: str
    repeatable: bool = False


SERVE_OPTIONS = (
    Option("--listen", "HOST:PORT", "where to listen; port 0 picks a free one (127.0.0.1:9092)"),
    Option("--advertise", "HOST:PORT", "what clients are told instead, behind a container's port or a proxy"),
    Option("--brokers", "N", "how many brokers, on ports that follow each other (1)"),
    Option("--topic", "NAME[:PARTITIONS[:KEY=VALUE,...]]", "make a topic at start", repeatable=True),
    Option("--set", "KEY=VALUE", "a broker property by Kafka's name", repeatable=True),
    Option("--config", "FILE", "broker properties from a server.properties", repeatable=True),
    Option("--data-dir", "DIR", "keep the data there; without it nothing is left behind"),
    Option("--kafka-version", "VERSION", f"the release to be: {RELEASES[0]} to {RELEASES[-2]}, or {NEWEST} ({NEWEST})"),
    Option("--log-level", "LEVEL", f"{', '.join(level.lower() for level in LOG_LEVELS)} (info)"),
    Option("--load", "TOPIC=FILE", "fill a topic from JSON Lines or CSV, plain, .gz or .zip", repeatable=True),
    Option("--key-column", "NAME", "the column of loaded CSV files that becomes the key"),
    Option("--timestamp-column", "NAME", "the column of loaded CSV files that becomes the timestamp"),
)

HELP = """usage: kafkalet serve [OPTION]...
       kafkalet pipeline load|dump|audit [OPTION]...

A Kafka broker that fits inside a test.
Its logs at any size, through Spark: kafkalet pipeline --help. The options of serve:

{options}
  --help             show this and exit
  --version          show the version and exit
"""


def help_text() -> str:
    lines = []
    for option in SERVE_OPTIONS:
        left = f"  {option.name} {option.value}"
        lines.append(f"{left}\n{'':21}{option.help}" if len(left) > 19 else f"{left:21}{option.help}")
    return HELP.format(options="\n".join(lines))


def parse(arguments: Sequence[str], options: Sequence[Option]) -> dict[str, list[str]]:
    """The values of the options, by name without the dashes, in the order in which they were given."""
    known = {option.name: option for option in options}
    given: dict[str, list[str]] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        option = known.get(name)
        if option is None:
            raise UsageError(f"unknown {'option' if argument.startswith('-') else 'argument'} {name}; try --help")
        if not equals:
            after = next(rest, None)
            if after is None:
                raise UsageError(f"{name} needs a value: {name} {option.value}")
            value = after
        values = given.setdefault(name.lstrip("-"), [])
        if values and not option.repeatable:
            raise UsageError(f"{name} is given twice")
        values.append(value)
    return given


def parse_address(option: str, text: str, least_port: int = 0) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `:PORT` (every interface) or `[IPV6]:PORT`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not least_port <= int(port) <= 65535:
        raise UsageError(f"{option} {text}: not HOST:PORT with a port from {least_port} to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_topic(text: str) -> NewTopic:
    """`NAME[:PARTITIONS[:KEY=VALUE,...]]`; a value may have commas of its own, as in cleanup.policy=compact,delete."""
    name, _, rest = text.partition(":")
    count, _, settings = rest.partition(":")
    if not name or (count and not (count.isdecimal() and int(count) > 0)):
        raise UsageError(f"--topic {text}: not NAME[:PARTITIONS[:KEY=VALUE,...]]")
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
            raise UsageError(f"--topic {text}: {part} is not KEY=VALUE")
    return NewTopic(name, int(count) if count else -1, config)


class Serve(NamedTuple):
    """What `serve` was told to do."""

    address: tuple[str, int]
    advertise: tuple[str, int] | None
    brokers: int
    topics: list[NewTopic]
    properties: dict[str, str]
    data_dir: str | None
    kafka_version: str
    log_level: str
    loads: list[tuple[str, str]]
    key_column: str | None
    timestamp_column: str | None

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Serve":
        given = parse(arguments, SERVE_OPTIONS)
        last = {name: values[-1] for name, values in given.items()}
        properties = _properties(given)
        advertise = last.get("advertise")
        brokers = last.get("brokers", "1")
        level = last.get("log-level", "info").upper()
        if not brokers.isdecimal() or int(brokers) < 1:
            raise UsageError(f"--brokers {brokers}: not a number from 1 up")
        if level not in LOG_LEVELS:
            raise UsageError(f"--log-level {level.lower()}: not one of {', '.join(LOG_LEVELS).lower()}")
        return cls(
            parse_address("--listen", last["listen"]) if "listen" in last else _listeners(properties),
            parse_address("--advertise", advertise, 1) if advertise else _advertised_listeners(properties),
            int(brokers),
            [parse_topic(text) for text in given.get("topic", [])],
            properties,
            last.get("data-dir"),
            last.get("kafka-version", NEWEST),
            level,
            [_split("--load", "TOPIC=FILE", text) for text in given.get("load", [])],
            last.get("key-column"),
            last.get("timestamp-column"),
        )


def _split(option: str, wanted: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} {text}: not {wanted}")
    return name.strip(), value


def _properties(given: Mapping[str, list[str]]) -> dict[str, str]:
    """Broker properties: first of the files, then of the command line, each later one over the earlier."""
    properties: dict[str, str] = {}
    for path in given.get("config", []):
        try:
            with open(path, encoding="utf-8") as file:
                properties |= read_properties(file.read())
        except (OSError, ValueError) as error:
            raise UsageError(f"--config {path}: {getattr(error, 'strerror', None) or error}") from error
    return properties | dict(_split("--set", "KEY=VALUE", text) for text in given.get("set", []))


def _listeners(properties: Mapping[str, str]) -> tuple[str, int]:
    """The first listener of the property `listeners`, as in PLAINTEXT://:9092, else the usual address."""
    first = properties.get("listeners", "").split(",")[0].strip()
    return parse_address("listeners", first.partition("://")[2] or first) if first else DEFAULT_ADDRESS


def _advertised_listeners(properties: Mapping[str, str]) -> tuple[str, int] | None:
    first = properties.get("advertised.listeners", "").split(",")[0].strip()
    return parse_address("advertised.listeners", first.partition("://")[2] or first, 1) if first else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == "pipeline":
        from kafkalet.pipeline.jobs import main as pipeline

        return pipeline(arguments[1:])
    if not arguments or "--help" in arguments or arguments[0] in ("help", "-h"):
        print(help_text(), end="")
        return 0
    if arguments[0] in ("--version", "version"):
        print(f"kafkalet {VERSION}")
        return 0
    try:
        if arguments[0] != "serve":
            raise UsageError(f"unknown command {arguments[0]}; try --help")
        return serve(Serve.of(arguments[1:]))
    except (UsageError, InvalidProperty, UnknownRelease) as error:
        return _complain(error, 2)
    except Failure as error:
        return _complain(error, 1)


def _complain(error: Exception, status: int) -> int:
    print(f"kafkalet: {error}", file=sys.stderr)
    return status


def serve(told: Serve) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP."""
    logging.basicConfig(
        stream=sys.stderr, level=told.log_level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    _raise_descriptor_limit()
    cluster = Cluster(
        told.brokers,
        host=told.address[0],
        port=told.address[1],
        advertise=told.advertise,
        data_dir=told.data_dir,
        config=told.properties,
        topics=told.topics,
        kafka_version=told.kafka_version,
    )
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_serve(cluster, told))


async def _serve(cluster: Cluster, told: Serve) -> int:
    stopped = _stop_signal(cluster.interrupt)
    try:
        await cluster.start()
    except StartInterrupted:
        return 0
    except (StorageFailed, OSError, HomeDamaged, DirectoryInUse, IdentityRefused) as error:
        raise Failure(_cannot_start(error, told)) from error
    except KafkaError as error:
        raise UsageError(error.message or error.code.name) from error
    try:
        if told.loads and not await _unless_stopped(stopped, _load(cluster, told)):
            return 0
        print(f"kafkalet ready bootstrap={cluster.bootstrap_servers}", flush=True)
        await stopped.wait()
        return 0
    finally:
        await cluster.stop()


def _cannot_start(error: Exception, told: Serve) -> str:
    if isinstance(error, StorageFailed):
        return error.reason
    if not isinstance(error, OSError):
        return str(error)
    if not isinstance(error, CannotListen):
        return explain(error)
    host, port = told.address
    more = f" and the {told.brokers - 1} ports after it" if told.brokers > 1 and port else ""
    return f"cannot listen on {host}:{port}{more}: {error.strerror}"


async def _unless_stopped(stopped: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Do the work; False when a signal came first."""
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


async def _load(cluster: Cluster, told: Serve) -> None:
    import csv

    from kafkalet.broker.load import load
    from kafkalet.broker.record_files import Columns, LoadError

    csv.field_size_limit(MAX_FIELD_CHARS)
    columns = Columns(told.key_column, told.timestamp_column)
    for topic, path in told.loads:
        progress = _Progress(topic, path) if sys.stderr.isatty() else None
        try:
            count = await load(cluster, topic, path, columns, progress)
        except (LoadError, KafkaError) as error:
            raise Failure(f"--load {topic}={path}: {error}" if isinstance(error, KafkaError) else error) from error
        except OSError as error:
            raise Failure(f"--load {path}: {error.strerror}") from error
        finally:
            if progress is not None:
                progress.end()
        _LOG.info("loaded %d records from %s into topic %s", count, path, topic)


class _Progress:
    """A line on the terminal that tells how far a file has been read."""

    def __init__(self, topic: str, path: str) -> None:
        self._what = f"loading {path} into {topic}"
        self._shown = -1

    def __call__(self, records: int, part: float) -> None:
        percent = int(part * 100)
        if percent != self._shown:
            self._shown = percent
            sys.stderr.write(f"\r{self._what}: {records:,} records, {percent} %")
            sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")


def _stop_signal(interrupt: Callable[[], None]) -> asyncio.Event:
    """An event that is set by the signals that mean the end. `interrupt` is called at once, even while the loop is busy
    with opening logs."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        interrupt()
        loop.call_soon_threadsafe(stopped.set)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, stop)
    return stopped


def _raise_descriptor_limit() -> None:
    """Let this process open as many files and connections as the system allows it to."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
