"""`kafkalet serve`: runs brokers until a signal stops them.

Once every listener accepts connections and every file has been loaded, one line is printed to stdout:

    kafkalet ready bootstrap=127.0.0.1:9092

If the brokers have several listeners, `bootstrap` is the address of the first one, and the line has the address of each
further one, as in `EXTERNAL=127.0.0.1:9094`. With --control, it also has the URL of the control API:
`control=http://127.0.0.1:9093`.

If this line cannot be written (the reader has closed the pipe, or the disk is full), the broker stops with status 1,
because the process that started it would never get the address. The broker keeps serving if it was started without
stdout (`>&-`, a daemon), if the reader closes the pipe after the line, and if stderr is closed at any time.
"""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.cluster.metadata_store import MetadataDamaged
from kafkalet.broker.cluster.new_topics import NewTopic, check_config, check_property_names
from kafkalet.broker.config.log_directories import LOG_DIR, LOG_DIRS
from kafkalet.broker.network.addresses import CannotListen
from kafkalet.broker.network.event_loop import new_event_loop
from kafkalet.embedded import EmbeddedCluster
from kafkalet.garbage import collected_when_idle
from kafkalet.properties import InvalidProperty, read_properties
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.directories import DirectoriesRefused
from kafkalet.storage.directory import DirectoryInUse
from kafkalet.storage.environment import StartInterrupted
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.storage.identity import IdentityRefused

from .command_line import (
    Failure,
    Option,
    UsageError,
    keep_standard_descriptors,
    parse,
    parse_address,
    print_line,
    split,
)
from .security_options import SECURITY_OPTIONS, short_forms

if TYPE_CHECKING:
    from kafkalet.broker.network.journal_file import JournalFile
    from kafkalet.broker.security.short_forms import ShortForms
    from kafkalet.control.server import ControlServer

    from .control import Control
    from .ready_file import ReadyFile

CA = "ca"
"""The field of the ready line with the file of the certificate that clients have to trust. Listeners are upper case."""
DEFAULT_ADDRESS = ("127.0.0.1", 9092)
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

SERVE_OPTIONS = (
    Option(
        "--listen",
        "[PROTOCOL://]HOST:PORT",
        "address to listen on; port 0 picks a free port (127.0.0.1:9092); repeatable",
        True,
    ),
    Option(
        "--advertise", "[NAME=]HOST:PORT", "address that a listener advertises, e.g. behind Docker; repeatable", True
    ),
    Option("--controller", "[ID@]HOST:PORT", "address of the controller, for admin clients that connect to it (none)"),
    Option("--brokers", "N", "number of brokers, on consecutive ports (1)"),
    Option("--topic", "NAME[:PARTITIONS[:KEY=VALUE,...]]", "create a topic if it does not exist; repeatable", True),
    Option("--feature", "NAME=LEVEL", "level of a feature in a new cluster: metadata.version=20; repeatable", True),
    Option("--set", "[ID:]KEY=VALUE", "set a property, by its Kafka name, of all brokers or of one; repeatable", True),
    Option("--config", "FILE", "read broker properties from a server.properties file; repeatable", True),
    Option("--data-dir", "DIR", "directory that keeps the data (a temporary one, removed on exit); repeatable", True),
    Option("--read-only", "", "never write to the data directory: refuse changes, and discard groups on exit"),
    Option(
        "--kafka-version", "VERSION", f"release to emulate: {RELEASES[0]} to {RELEASES[-2]}, or {NEWEST} ({NEWEST})"
    ),
    Option("--log-level", "LEVEL", "debug (a line for each request), info, warning or error (info)"),
    Option("--journal", "FILE", "append each request and its response to a file, as JSON Lines"),
    Option("--load", "TOPIC=FILE", "load a JSON Lines or CSV file (plain, .gz or .zip) into a topic; repeatable", True),
    Option("--key", "COL", "CSV column that becomes the record key (none)", aliases=("--key-column",)),
    Option(
        "--timestamp",
        "COL",
        "CSV column that becomes the record timestamp (the time of loading)",
        aliases=("--timestamp-column",),
    ),
    *SECURITY_OPTIONS,
    Option("--control", "HOST:PORT", "offer the control API over HTTP; port 0 picks a free port"),
    Option("--control-token", "TOKEN", "token that the control API requires ($KAFKALET_CONTROL_TOKEN)"),
    Option("--ready-file", "FILE", "file to contain the address and the process id while the broker is ready"),
    Option("--exit-with-parent", "", "stop when the process that started kafkalet has ended"),
)


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

    address: tuple[str, int] | None
    """The address to listen on, or None if the property `listeners` has the addresses."""
    advertise: tuple[str, int] | dict[str, tuple[str, int]] | None
    controller: str | None
    brokers: int
    topics: list[NewTopic]
    properties: dict[str, str]
    own_properties: dict[int, dict[str, str]]
    """The properties of single brokers, by broker id."""
    data_dirs: list[str]
    """The data directories; none for a temporary one, or for those in the properties."""
    read_only: bool
    kafka_version: str
    features: dict[str, int]
    log_level: str
    loads: list[tuple[str, str]]
    key: str | None
    timestamp: str | None
    ready_file: str | None
    exit_with_parent: bool
    journal: str | None
    control: "Control | None"
    cluster_id: str | None = None
    """The cluster id of a new data directory, or None for a random one."""
    security: "ShortForms | None" = None

    @classmethod
    def of(
        cls,
        given: Mapping[str, list[str]],
        address: tuple[str, int] = DEFAULT_ADDRESS,
        log_level: str = "info",
    ) -> "Serve":
        """Check the given options. `address` and `log_level` are the defaults if no option or property sets them."""
        last = {name: values[-1] for name, values in given.items()}
        properties, own_properties = _properties(given)
        security = short_forms(given)
        protocol = "PLAINTEXT" if security is None else security.default_protocol
        if "data-dir" in given:
            properties = {name: value for name, value in properties.items() if name not in (LOG_DIRS, LOG_DIR)}
        properties, own_address = with_listeners(given.get("listen", []), properties, protocol)
        advertise = _advertise(given.get("advertise", []))
        if advertise is not None:
            properties.pop("advertised.listeners", None)
        level = last.get("log-level", log_level).upper()
        if problem := next(_problems(given, last, properties, level), None):
            raise UsageError(problem)
        return cls(
            address=None if "listeners" in properties else own_address or address,
            advertise=advertise,
            controller=last.get("controller"),
            brokers=int(last.get("brokers", 1)),
            topics=_topics(given.get("topic", [])),
            properties=properties,
            own_properties=own_properties,
            data_dirs=given.get("data-dir", []),
            read_only="read-only" in last,
            kafka_version=last.get("kafka-version", NEWEST),
            features=dict(map(_feature, given.get("feature", []))),
            log_level=level,
            loads=[split("--load", "TOPIC=FILE", text) for text in given.get("load", [])],
            key=last.get("key"),
            timestamp=last.get("timestamp"),
            ready_file=last.get("ready-file"),
            exit_with_parent="exit-with-parent" in last,
            journal=last.get("journal"),
            control=_control(last),
            security=security,
        )


def _problems(
    given: Mapping[str, list[str]], last: Mapping[str, str], properties: Mapping[str, str], level: str
) -> Iterator[str]:
    """Yield a message for each option that is invalid, that requires another option, or that excludes one."""
    brokers = last.get("brokers", "1")
    if not brokers.isdecimal() or int(brokers) < 1:
        yield f"--brokers {brokers}: expected a number of at least 1"
    if level not in LOG_LEVELS:
        yield f"--log-level {level.lower()}: expected one of {', '.join(LOG_LEVELS).lower()}"
    for name in ("key", "timestamp"):
        if name in last and "load" not in last:
            yield f"--{name} {last[name]}: only applies to files loaded with --load; --load is missing"
    if last.get("journal") == "-":
        yield "--journal -: the journal cannot be written to stdout; name a file"
    yield from _directory_problems(given, properties)
    for name in ("ready-file", "journal"):
        if last.get(name) == "":
            yield f"--{name}: the file name is empty"
    if "exit-with-parent" in last and os.name == "nt":
        yield "--exit-with-parent: not available on Windows, where a process keeps its parent's id"


def _directory_problems(given: Mapping[str, list[str]], properties: Mapping[str, str]) -> Iterator[str]:
    if "" in given.get("data-dir", []):
        yield "--data-dir: the directory name is empty"
    if "read-only" not in given:
        return
    if "data-dir" not in given and not {LOG_DIRS, LOG_DIR} & properties.keys():
        yield "--read-only: the directory is missing; name it with --data-dir DIR"
    for name in ("topic", "load"):
        if name in given:
            yield f"--{name} {given[name][0]}: brokers with --read-only accept no topics and no records"


def _control(last: Mapping[str, str]) -> "Control | None":
    if "control" not in last and "control-token" not in last:
        return None
    from .control import Control

    return Control.of(last)


def _topics(texts: Sequence[str]) -> list[NewTopic]:
    topics: dict[str, NewTopic] = {}
    for text in texts:
        topic = parse_topic(text)
        if topic.name in topics:
            raise UsageError(f"--topic {text}: topic {topic.name} is given twice; name each topic once")
        topics[topic.name] = topic
    return list(topics.values())


def _feature(text: str) -> tuple[str, int]:
    name, level = split("--feature", "NAME=LEVEL", text)
    if not level.isdecimal():
        raise UsageError(f"--feature {text}: expected a number as the level")
    return name, int(level)


def _properties(given: Mapping[str, list[str]]) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """Return the properties from the files, then the command line; later values override earlier ones.

    The second result has the properties of single brokers, by broker id.
    """
    properties: dict[str, str] = {}
    for path in given.get("config", []):
        try:
            with open(path, encoding="utf-8") as file:
                properties |= read_properties(file.read())
        except (OSError, ValueError) as error:
            raise UsageError(f"--config {path}: {getattr(error, 'strerror', None) or error}") from error
    own: dict[int, dict[str, str]] = {}
    for text in given.get("set", []):
        name, value = split("--set", "KEY=VALUE", text)
        node_id, colon, own_name = name.partition(":")
        if not colon:
            properties[name] = value
        elif node_id.isdecimal() and own_name:
            own.setdefault(int(node_id), {})[own_name] = value
        else:
            raise UsageError(
                f"--set {text}: expected KEY=VALUE or, for one broker, ID:KEY=VALUE, as in 2:broker.rack=b"
            )
    return properties, own


def with_listeners(
    listen: Sequence[str], properties: Mapping[str, str], default_name: str = "PLAINTEXT"
) -> tuple[dict[str, str], tuple[str, int] | None]:
    """Return the properties with the listeners of --listen, which replace those in the properties.

    A listener without a name is named `default_name`, unless it is the only one: then, its address is returned, and the
    properties name no listener.
    """
    if not listen:
        return dict(properties), None
    others = {name: value for name, value in properties.items() if name != "listeners"}
    listeners = []
    for text in listen:
        name, scheme, address = text.rpartition("://")
        host, port = parse_address("--listen", address)
        if scheme and not name:
            raise UsageError(f"--listen {text}: the protocol is empty; expected [PROTOCOL://]HOST:PORT")
        if len(listen) == 1 and not scheme and default_name == "PLAINTEXT":
            return others, (host, port)
        listeners.append(f"{name or default_name}://{f'[{host}]' if ':' in host else host}:{port}")
    return others | {"listeners": ",".join(listeners)}, None


def _advertise(texts: Sequence[str]) -> tuple[str, int] | dict[str, tuple[str, int]] | None:
    """Return the advertised addresses by listener name, or that of the first listener if no name is given."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return parse_address("--advertise", texts[0], 1)
    named: dict[str, tuple[str, int]] = {}
    for text in texts:
        name, equals, address = text.rpartition("=")
        if not equals or not name:
            raise UsageError(f"--advertise {text}: with several addresses, expected NAME=HOST:PORT")
        if name.upper() in named:
            raise UsageError(f"--advertise {text}: listener {name} is given twice; name each listener once")
        named[name.upper()] = parse_address("--advertise", address, 1)
    return named


def main(arguments: Sequence[str], parent_id: int) -> int:
    """Run `kafkalet serve` and return its exit status. `parent_id` is the process that started kafkalet."""
    return serve(Serve.of(parse(arguments, SERVE_OPTIONS, "serve")), Starter(parent_id))


class Starter:
    """The process that started the broker. It is notified of the start, and its end may stop the broker."""

    def __init__(self, parent_id: int) -> None:
        self._parent_id = parent_id

    def watch(self, options: Serve, stop: Callable[[], None]) -> None:
        """Call `stop` in the running event loop when the process has ended, if --exit-with-parent is given."""
        if options.exit_with_parent:
            from .parent import call_when_gone

            call_when_gone(self._parent_id, stop)

    def started(self, temporary_directory: str | None) -> None:
        """The brokers have started; files are loaded next."""

    def ready(self, bootstrap_servers: str, listeners: Mapping[str, str], control_url: str | None) -> None:
        """The brokers accept connections, and all files are loaded. Raises Failure if the notification fails.

        `listeners` are the addresses of the further listeners by name and, as `ca`, the path of the certificate that
        clients have to trust.
        """
        control = "" if control_url is None else f" control={control_url}"
        further = "".join(f" {name}={address}" for name, address in listeners.items())
        print_line(f"kafkalet ready bootstrap={bootstrap_servers}{further}{control}")


def serve(options: Serve, starter: Starter) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP."""
    keep_standard_descriptors()
    _log_to_stderr(options.log_level)
    _raise_descriptor_limit()
    host, port = options.address or ("", 0)
    config: dict[str | int, str | Mapping[str, str]] = dict(
        (*options.properties.items(), *options.own_properties.items())
    )
    security = {} if options.security is None else options.security._asdict()
    try:
        cluster = _class_of_cluster(options)(
            options.brokers,
            host=host,
            port=port,
            advertise=options.advertise,
            controller=options.controller,
            data_dir=options.data_dirs or None,
            read_only=options.read_only,
            config=config,
            topics=options.topics,
            version=options.kafka_version,
            features=options.features,
            **security,
        )
    except ValueError as error:
        raise UsageError(error) from error
    cluster._server.cluster_id = options.cluster_id
    for topic in options.topics:
        _check_topic(topic, cluster)
    ready_file = _ready_file(options.ready_file)
    journal_file = _journal_file(cluster, options.journal)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            return runner.run(_serve(cluster, options, starter, ready_file))
        finally:
            if journal_file is not None:
                journal_file.close()


def _class_of_cluster(options: Serve) -> type[EmbeddedCluster]:
    """Return the test kit's class if the control API needs it, else the class that starts faster."""
    if options.control is None:
        return EmbeddedCluster
    from kafkalet.testing.cluster import Cluster

    return Cluster


def _ready_file(path: str | None) -> "ReadyFile | None":
    if path is None:
        return None
    from .ready_file import ReadyFile

    return ReadyFile(path)


def _journal_file(cluster: EmbeddedCluster, path: str | None) -> "JournalFile | None":
    """Attach a journal to the brokers and open its file, if the options name one."""
    if path is None:
        return None
    from kafkalet.broker.network.journal import Journal
    from kafkalet.broker.network.journal_file import JournalFile

    if cluster._server.journal is None:
        cluster._server.journal = Journal(most_requests=0)
    try:
        return JournalFile(path, cluster._server.journal)
    except OSError as error:
        raise Failure(f"--journal {path}: {error.strerror}") from error


def _check_topic(topic: NewTopic, cluster: EmbeddedCluster) -> None:
    """Raise a UsageError that names the --topic option if its topic is invalid."""
    try:
        check_topic_name(topic.name)
        check_property_names(topic.properties, cluster._server.config)
        check_config(topic.properties, cluster._server.config)
    except KafkaError as error:
        raise UsageError(f"--topic {topic.name}: {error.message}") from error


async def _start(cluster: EmbeddedCluster, options: Serve) -> bool:
    """Start the cluster. Return False if it was interrupted. Raises UsageError or Failure."""
    try:
        await cluster.start()
    except StartInterrupted:
        return False
    except (StorageFailed, OSError, MetadataDamaged, DirectoryInUse, DirectoriesRefused, IdentityRefused) as error:
        raise Failure(_cannot_start(error, options)) from error
    except KafkaError as error:
        raise UsageError(error.message or error.code.name) from error
    except InvalidProperty as error:
        raise UsageError(error) from error
    except Exception as error:
        if _is_about_certificates(error, options):
            raise Failure(f"--tls: {error}") from error
        raise
    return True


async def _serve(cluster: EmbeddedCluster, options: Serve, starter: Starter, ready_file: "ReadyFile | None") -> int:
    stopped = asyncio.Event()
    _on_stop_signal(cluster._server.interrupt, stopped)
    disks_failed = asyncio.Event()

    def all_directories_failed() -> None:
        disks_failed.set()
        stopped.set()

    cluster._server.all_directories_failed = all_directories_failed
    starter.watch(options, stopped.set)
    if not await _start(cluster, options):
        return 0
    control: ControlServer | None = None
    paths = cluster._server.log_directories
    try:
        starter.started(cluster._server.temporary_directory)
        if options.control is not None:
            control = options.control.open(cluster)
        if options.loads and not await _unless_stopped(stopped, _load(cluster, options)):
            return 0
        with collected_when_idle(lambda: cluster._server.is_busy):
            control_url = None if control is None else control.url
            further = list(cluster._server.addresses_of_listeners())[1:]
            others = {name: cluster.bootstrap_servers_of(name) for name in further}
            if cluster._server.authority is not None:
                others[CA] = cluster._server.authority.ca_file
            if ready_file is not None:
                ready_file.write(cluster.bootstrap_servers, others, control_url)
            starter.ready(cluster.bootstrap_servers, others, control_url)
            await stopped.wait()
        if disks_failed.is_set():
            raise Failure(f"the broker stops: all its log directories have failed: {', '.join(paths)}")
        return 0
    finally:
        if ready_file is not None:
            ready_file.remove()
        await cluster.stop()
        if control is not None:
            await asyncio.sleep(0)  # calls of the control API that have reached the loop end now
            control.close()


def _is_about_certificates(error: Exception, options: Serve) -> bool:
    if options.security is None or not options.security.tls:
        return False
    from kafkalet.broker.security.tls.certificate_tools import NoCertificates

    return isinstance(error, NoCertificates)


async def _load(cluster: EmbeddedCluster, options: Serve) -> None:
    from .loading import load_files

    await load_files(cluster._server, options.loads, options.key, options.timestamp)


def _cannot_start(error: Exception, options: Serve) -> str:
    if isinstance(error, StorageFailed):
        return error.reason
    if not isinstance(error, OSError):
        return str(error)
    if not isinstance(error, CannotListen):
        return explain(error)
    host, port = options.address or error.address
    text = f"cannot listen on {host}:{port}"
    if options.brokers > 1 and port and options.address is not None:
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


def _log_to_stderr(level: str) -> None:
    handler = logging.NullHandler() if sys.stderr is None else logging.StreamHandler(sys.stderr)
    logging.basicConfig(handlers=[handler], level=level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")


def _on_stop_signal(interrupt: Callable[[], None], stopped: asyncio.Event) -> None:
    """Make SIGINT, SIGTERM and SIGHUP set the event.

    The signal handler also calls `interrupt` directly, because opening logs during startup blocks the event loop.
    """
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        interrupt()
        loop.call_soon_threadsafe(stopped.set)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):  # started by nohup
            continue
        signal.signal(number, stop)


def _raise_descriptor_limit() -> None:
    """Raise the limit on open files and sockets to the maximum that the system allows this process."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
