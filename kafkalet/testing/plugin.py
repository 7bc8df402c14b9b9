"""The pytest plugin: fixtures that run brokers, and the marker `kafka` with the options of a test's broker.

    def test_it(kafka):                        a new broker for this test
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    def test_it(kafka_session):                one broker for the test session

    @pytest.mark.kafka(version="3.9", topics={"orders": 6}, config={"message.max.bytes": 1000}, brokers=3)
    def test_it(kafka):                        a new cluster with these options

The fixture `kafka` has a second name, `kafkalet`, because `kafka` hides the module of kafka-python inside a test.

Each broker runs in its own thread and listens on a free port of 127.0.0.1, independently of any event loop in the test.
When the fixture ends, the broker's thread, sockets and files are gone. Each pytest-xdist worker has its own brokers.

pytest loads this module in every run, so the broker is imported only when a test requests a fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from opcode import opmap
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import pytest

if TYPE_CHECKING:
    from .broker_options import ClusterOptions
    from .cluster import Cluster
    from .external import ExternalCluster
    from .topic import Topic

FRESH = ("kafka", "kafkalet")
CLUSTER = "kafka_cluster"
SESSION = "kafka_session"
WITH_A_BROKER = (*FRESH, CLUSTER, SESSION)
"""The fixtures that provide a broker, in the order in which `kafka_topic` and `kafka_env` choose one."""

MARKER = (
    "kafka(version=, topics=, config=, brokers=, env=, needs=, ...): options of kafkalet.Cluster for the fixtures "
    "kafka and kafka_cluster. env: additional variables that kafka_env sets to the address of the broker. "
    "needs: features of kafkalet that the test needs; --kafka-external skips it"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the command line and of the ini file."""
    group = parser.getgroup("kafkalet", "kafkalet brokers")
    group.addoption(
        "--kafka-external",
        metavar="HOST:PORT",
        help="run the tests against this Kafka cluster; tests that need features of kafkalet are skipped",
    )
    group.addoption(
        "--kafka-timeout",
        type=float,
        metavar="SECONDS",
        help="timeout of waits in tests (default: the ini option kafka_timeout, or 10)",
    )
    parser.addini("kafka_timeout", "timeout of waits in tests, in seconds")
    parser.addini("kafka_env", "environment variables that kafka_env sets to the address of the broker", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


# Markers


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse invalid markers before the first test runs. In a worker of pytest-xdist, that would crash; see below."""
    if _is_worker(config):
        return
    for item in items:
        if refusal := _refusal(item):
            raise pytest.UsageError(refusal)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse invalid markers in a worker of pytest-xdist, and skip tests that the external cluster cannot run."""
    if _is_worker(item.config) and (refusal := _refusal(item)):
        pytest.fail(refusal, pytrace=False)
    if item.config.getoption("kafka_external") and (features := _options(item).get("needs")):
        pytest.skip(f"{NEEDS}{', '.join(features)}")


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _refusal(item: pytest.Item) -> str | None:
    """Return what is wrong with the markers `kafka` of a test, as far as it can be checked without a broker."""
    for mark in item.iter_markers("kafka"):
        from kafkalet.broker.arguments import check_names

        from .broker_options import NAMES, OF_THE_MARKER

        if mark.args:
            return f"{item.nodeid}: the marker kafka takes keywords, as in kafka(version=...), not {mark.args[0]!r}"
        try:
            check_names("the marker kafka", mark.kwargs, (*NAMES, *OF_THE_MARKER))
        except TypeError as error:
            return f"{item.nodeid}: {error}"
        fixtures = getattr(item, "fixturenames", ())
        options = sorted(mark.kwargs.keys() - OF_THE_MARKER)
        if options and SESSION in fixtures and not {*FRESH, CLUSTER} & {*fixtures}:
            return (
                f"{item.nodeid}: the marker kafka({', '.join(options)}) has no effect on kafka_session, which other "
                "tests use as well; use the fixture kafka, or define a fixture kafka_session with scope='session'"
            )
    return None


def _options(item: pytest.Item, fixtures: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the options of a test: from its indirect parameter, then from the markers, the closest first."""
    from .broker_options import merged

    marked = [mark.kwargs for mark in reversed(list(item.iter_markers("kafka")))]
    return merged([*marked, *(_parameter(item, name) for name in fixtures)])


def _parameter(item: pytest.Item, fixture: str) -> dict[str, Any]:
    """Return the options from an indirect parameter: a release or a dict of options."""
    from kafkalet.broker.arguments import check_names

    from .broker_options import NAMES

    value = item.callspec.params.get(fixture, {}) if hasattr(item, "callspec") else {}
    options = {"version": value} if isinstance(value, str) else value
    if not isinstance(options, dict):
        raise TypeError(f'a parameter of {fixture} must be a release such as "3.9" or a dict of options, not {value!r}')
    check_names(f"the parameter of {fixture}", options, NAMES)
    return options


# Brokers


class Factory(Protocol):
    """The type of `kafka_factory`."""

    def __call__(self, **options: Unpack[ClusterOptions]) -> Cluster: ...


@pytest.fixture
def kafkalet(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Provide a new broker for the test. `kafka` and `kafkalet` are the same object.

    The marker `kafka` changes its options. With `brokers=2` or more, it is a `Cluster`, otherwise a `Broker`. An
    indirect parameter is a release or a dict of options.
    """
    yield from _provided(request, FRESH, 1)


@pytest.fixture
def kafka(kafkalet: Cluster) -> Cluster:
    """Provide a new broker for the test. `kafka` and `kafkalet` are the same object."""
    return kafkalet


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Provide a new cluster for the test, with three brokers unless the marker `kafka` sets another number."""
    yield from _provided(request, (CLUSTER,), 3)


@pytest.fixture(scope="session")
def kafka_session(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Provide one broker for the test session, or for each pytest-xdist worker, on the same port.

    For each test, it is like new: when a test ends, its topics, groups, faults and changes to the broker are removed,
    and clients are disconnected. The faults of fixtures with a wider scope stay while their `with` block lasts.
    """
    with _started(request, {}) as cluster:
        request.session.stash[_SHARED] = cluster
        yield cluster


@pytest.fixture
def kafka_factory(request: pytest.FixtureRequest) -> Iterator[Factory]:
    """Provide a function that starts more brokers: `kafka_factory(version="3.9", brokers=3)`.

    It takes the options of `kafkalet.Cluster` and those of the marker `kafka`, and returns a `Broker`, or a `Cluster`
    if `brokers` is more than one. The brokers stop when the test ends.
    """
    from kafkalet.broker.arguments import check_names

    from .broker_options import NAMES

    with ExitStack() as stack:

        def start(**options: Unpack[ClusterOptions]) -> Cluster:
            check_names("kafka_factory", options, NAMES)
            if request.config.getoption("kafka_external"):
                pytest.skip(f"{NEEDS}kafka_factory")
            cluster: Cluster = stack.enter_context(_started(request, {**options}))
            request.node.stash.setdefault(_MADE, []).append(cluster)
            return cluster

        start.__qualname__ = "kafka_factory"
        yield start


NEEDS = "needs kafkalet's "
"""The beginning of the reason for a test that --kafka-external skips. The features follow."""
_MADE = pytest.StashKey[list[Any]]()
"""The brokers that the fixtures have started for a test."""
_SHARED = pytest.StashKey[Any]()
"""The broker of the test session, once a test has requested it."""


def _provided(request: pytest.FixtureRequest, fixtures: tuple[str, ...], brokers: int) -> Iterator[Cluster]:
    """Run a broker with the options of the test's markers and parameters."""
    from kafkalet.protocol.errors import KafkaError

    item = request.node
    refusal = None
    try:
        context = _started(request, _options(item, fixtures), brokers)
        cluster = context.__enter__()
    except (TypeError, ValueError, KafkaError) as error:
        refusal = f"{item.nodeid}: {error}"
    if refusal:
        pytest.fail(refusal, pytrace=False)  # outside `except`, to show only this line
    item.stash.setdefault(_MADE, []).append(cluster)
    try:
        yield cluster
    finally:
        context.__exit__(None, None, None)  # no `with`, because only errors of the start concern the options


@contextmanager
def _started(request: pytest.FixtureRequest, given: dict[str, Any], brokers: int = 1) -> Iterator[Any]:
    """Run a broker, or prepare the external cluster."""
    from .broker_options import OF_THE_MARKER, new_cluster

    options = {name: value for name, value in given.items() if name not in OF_THE_MARKER}
    timeout = _timeout_s(request.config)
    if timeout is not None:
        options = {"timeout": timeout, **options}
    if request.config.getoption("kafka_external"):
        from .external import prepared

        with prepared(request.getfixturevalue("_kafka_external"), options, brokers) as external:
            yield external
        return
    with new_cluster(options, brokers) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _kafka_external(request: pytest.FixtureRequest) -> ExternalCluster:
    """Provide the cluster of --kafka-external."""
    from .external import ExternalCluster

    return ExternalCluster(request.config.getoption("kafka_external"))


def _timeout_s(config: pytest.Config) -> float | None:
    """Return the default timeout of waits from the command line or the ini file."""
    given = config.getoption("kafka_timeout")
    text = config.getini("kafka_timeout")
    if given is None and not text:
        return None
    try:
        seconds = float(text if given is None else given)
        if not 0 <= seconds < float("inf"):
            raise ValueError
    except ValueError:
        raise pytest.UsageError(
            f"kafka_timeout is {text if given is None else given}; it must be a number of seconds, at least 0"
        ) from None
    return seconds


# Topics and environment


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest) -> Iterator[Topic]:
    """Provide a new topic with a unique name that begins with the name of the test.

    The topic is on the broker that the test uses: `kafka`, `kafka_cluster` or `kafka_session`.
    """
    cluster = _cluster_of(request)
    topic = cluster.topic(_unique_name(request.node.name)).create()
    yield topic
    is_shared = cluster not in request.node.stash.get(_MADE, [])
    if is_shared and cluster.is_running and topic.exists:
        topic.delete()


@pytest.fixture
def kafka_env(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Provide a broker whose address is in the environment variable KAFKA_BOOTSTRAP_SERVERS.

    The marker `kafka(env=["..."])` and the ini option `kafka_env` name more variables. The broker is the one that
    the test uses: `kafka`, `kafka_cluster` or `kafka_session`. The environment is restored after the test.
    """
    cluster = _cluster_of(request)
    names = ["KAFKA_BOOTSTRAP_SERVERS", *request.config.getini("kafka_env"), *_options(request.node).get("env", [])]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setenv(name, cluster.bootstrap_servers)
        yield cluster


def _cluster_of(request: pytest.FixtureRequest) -> Any:
    """Return the broker that the test uses, or a new one."""
    name = next((name for name in WITH_A_BROKER if name in request.fixturenames), FRESH[0])
    return request.getfixturevalue(name)


LONGEST_NAME = 200
"""A topic's name has at most 249 characters; programs under test may append to it, as in `.retry`."""


def _unique_name(test: str) -> str:
    """Return a topic name from the name of a test.

    It contains no dot, because Kafka refuses a name that differs from another one only in a dot and an underscore.
    """
    import re
    import uuid

    words = re.sub(r"[^a-zA-Z0-9_]+", "-", test).strip("-")
    return f"{words[:LONGEST_NAME]}-{uuid.uuid4().hex[:12]}"


# Reports


_PASSED = pytest.StashKey[bool]()
"""Whether a test function has passed. Faults are not checked for a skipped or failed test."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section about each broker to the report of a failed test, and omit the frames of kafkalet."""
    if call.excinfo is not None:
        _hide_frames()
    outcome = yield
    if outcome.when == "call":
        item.stash[_PASSED] = outcome.passed
    clusters = _clusters_of(item)
    if outcome.failed and clusters:
        from .lifetime import described, has_report

        outcome.sections += [("kafkalet", described(cluster)) for cluster in clusters if has_report(cluster)]
    if outcome.when == "teardown":
        for cluster in _clusters_of(item, item.session.stash.get(_SHARED, None)):
            cluster._forget_test()
        item.stash[_MADE] = []  # pytest keeps the item until the session ends
    return outcome


def _hide_frames() -> None:
    """Let tracebacks end at the line of the test if kafkalet refuses a call: pytest looks for this name in modules."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "kafkalet" and name != __name__:
            module.__tracebackhide__ = _is_raised  # type: ignore[attr-defined]


def _is_raised(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Return whether kafkalet has raised an exception, or code that it has called. Otherwise, it has a bug."""
    last = excinfo.traceback[-1]
    if last.frame.f_globals.get("__name__", "").partition(".")[0] != "kafkalet":
        return True
    instruction = last._rawentry.tb_lasti
    return last.frame.code.raw.co_code[instruction] == opmap["RAISE_VARARGS"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Remove the faults that the test has left behind. If it has passed, fail it if one of them has never fired."""
    clusters = _clusters_of(item, item.session.stash.get(_SHARED, None))
    failures = [text for cluster in clusters for text in cluster._end_faults()]
    try:
        yield
    finally:
        failures += [text for cluster in clusters for text in cluster._end_faults()]  # set by a fixture's teardown
        _renew(item.session.stash.get(_SHARED, None))
    if item.stash.get(_PASSED, False) and failures:
        pytest.fail("\n".join(failures), pytrace=False)


def _renew(shared: Any) -> None:
    """Make the broker of the session as new for the next test, unless it has stopped."""
    if "kafkalet.testing.cluster" not in sys.modules:
        return
    from .cluster import Cluster

    if isinstance(shared, Cluster) and shared.is_running:
        shared._renew()


def _clusters_of(item: pytest.Item, *others: object) -> list[Cluster]:
    """Return the brokers of a test: from fixtures of this plugin or of the user, from `kafka_factory`, and `others`.

    A fixture of the session is in the test's arguments, unless the test requests it with `getfixturevalue`.
    """
    if "kafkalet.testing.cluster" not in sys.modules:
        return []
    from .cluster import Cluster
    from .mirror import Mirror

    values = [*getattr(item, "funcargs", {}).values(), *item.stash.get(_MADE, []), *others]
    values = [value._cluster if isinstance(value, Mirror) else value for value in values]
    clusters = {id(value): value for value in values if isinstance(value, Cluster)}
    return list(clusters.values())


def pytest_report_header(config: pytest.Config) -> str | None:
    """Show the address of the external cluster in the header."""
    address = config.getoption("kafka_external")
    return f"kafkalet: tests run against the Kafka cluster at {address}" if address else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Count the tests that the external cluster could not run, by feature."""
    if not config.getoption("kafka_external"):
        return
    counts: dict[str, int] = {}
    for skipped in terminalreporter.stats.get("skipped", ()):
        reason = skipped.longrepr[2] if isinstance(skipped.longrepr, tuple) else ""
        if NEEDS in reason:
            feature = reason.partition(NEEDS)[2]
            counts[feature] = counts.get(feature, 0) + 1
    if counts:
        features = ", ".join(f"{feature}: {count}" for feature, count in sorted(counts.items()))
        terminalreporter.write_line(f"kafkalet: skipped with --kafka-external, by the feature they need: {features}")
