"""Hooks and fixtures that all tests share.

The fixture `broker` is a client of kafkalet emulating a Kafka release. With `-m oracle` (`make oracle`) the same tests
also run against Apache Kafka of that release; without it they are deselected, and if Java or Maven is missing they are
skipped with that reason.
"""

import ast
import gc
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from hypothesis import settings

import kafkalet

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

    from kafkalet.conformance.playing.target import Target

    from .wire.behaviour.client import Client

TESTS = Path(__file__).parent
ROOT = TESTS.parent
KINDS = ("unit", "wire", "recorded", "clients", "spark", "rules", "fuzz", "torture")
TURNS = ("spark", "fuzz", "torture", "slow", "rules", "clients", "wire", "recorded", "oracle", "unit")

OF_THE_PIPELINE = ["oracle/pipeline", "spark", "unit/pipeline", "wire/pipeline"]
collect_ignore = [] if find_spec("pyspark") else OF_THE_PIPELINE

# No deadlines: on a shared machine the duration of an example says little about kafkalet. The examples are the same on
# every run, so that a failure is due to the change under test; the profile `long` searches for new ones.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)  # make quick
settings.register_profile("long", deadline=None, max_examples=4000)  # --hypothesis-profile=long
settings.load_profile("ci")

RELEASES = ("3.9", "4.4")
BROKERS = [pytest.param(("kafkalet", release), id=f"kafkalet-{release}") for release in RELEASES]
BROKERS += [pytest.param(("kafka", r), id=f"kafka-{r}", marks=pytest.mark.oracle) for r in RELEASES]


def pytest_report_header() -> list[str]:
    """Mention that the pipeline tests are not collected in an environment without the extra `spark`."""
    return ["no tests of the pipeline: pip install -e '.[spark]'"] if collect_ignore else []


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test with its directory; `oracle` is set by hand, because the oracle's tools have tests too."""
    kind = _kind_of(item.path)
    if kind in KINDS:
        item.add_marker(kind)


@cache
def _kind_of(path: Path) -> str:
    return path.relative_to(TESTS).parts[0]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules in which every test needs Apache Kafka, unless `-m oracle` selects them."""
    if "oracle" in config.option.markexpr or collection_path.suffix != ".py" or _kind_of(collection_path) != "oracle":
        return None
    return "\npytestmark = pytest.mark.oracle\n" in collection_path.read_text() or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need Apache Kafka, unless `-m oracle` selects them, and run the slowest kinds first."""
    items.sort(key=_turn_of)
    if "oracle" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("oracle")]
        items[:] = [item for item in items if not item.get_closest_marker("oracle")]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Do not collect garbage while tests are collected: nearly all objects are kept, and their number triggers many
    full collections, which are a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude the modules and the tests of the run from garbage collections: they live until it ends.

    They are so many that a full collection takes half a second. Clients are followed by one each, because they leave
    reference cycles with open sockets.
    """
    gc.collect()
    gc.freeze()


def _turn_of(item: pytest.Item) -> int:
    """Sort groups first and unit tests last, because short tests fill the time that workers have left at the end."""
    if _group_of(item.nodeid):
        return -1
    kind = _kind_of(item.path)
    if kind == "unit" and item.get_closest_marker("slow"):
        kind = "slow"
    return TURNS.index(kind)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling | None":
    """Send all tests of an `xdist_group` to one worker, so that Spark starts only once per group.

    `--dist loadgroup` would do this, but pytest-xdist 3.8 ignores the groups with pytest 9.2. Unit tests are
    distributed by file, because sending one to a worker takes about as long as running it; so are the rules, which
    share parsed sources. All other tests are distributed one by one. If a run requests another distribution (`make
    quick`, which needs no Spark), it is used.
    """
    if config.getoption("dist") != "load":
        return None
    config.option.loadscopereorder = False  # keep the order set by `pytest_collection_modifyitems`
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group_of(nodeid) or _file_of(nodeid) or nodeid

    return ByGroup(config, log)


def _group_of(nodeid: str) -> str | None:
    """Return the `xdist_group` that the test's file declares, or None if the test does not use the Spark session."""
    file, _, test = nodeid.partition("::")
    named = _named_group(file)
    if named is None or test.partition("[")[0].rpartition("::")[2] in _without_spark(file):
        return None
    return named


@cache
def _named_group(file: str) -> str | None:
    named = re.search(r'xdist_group\("(\w+)"\)', _text_of(file))
    return named and named[1]


def _file_of(nodeid: str) -> str | None:
    """Return the test's file if all tests of the file run on one worker."""
    file = nodeid.partition("::")[0]
    return file if _is_run_as_a_whole(file) else None


@cache
def _is_run_as_a_whole(file: str) -> bool:
    by_file = file.startswith("tests/unit/") and "mark.slow" not in _text_of(file)
    return by_file or (file.startswith("tests/rules/") and "snippet" not in file)


@cache
def _text_of(file: str) -> str:
    return (ROOT / file).read_text()


@cache
def _without_spark(file: str) -> frozenset[str]:
    """Return the tests of a file that do not use the fixture `spark`, directly or through other fixtures."""
    functions = [node for node in ast.walk(ast.parse(_text_of(file))) if isinstance(node, ast.FunctionDef)]
    arguments = {each.name: {argument.arg for argument in each.args.args} for each in functions}
    if not any("spark" in names for names in arguments.values()) or "autouse" in _text_of(file):
        return frozenset()
    using = {"spark", "request"}
    while more := {name for name, names in arguments.items() if names & using} - using:
        using |= more
    return frozenset(arguments.keys() - using)


@pytest.fixture(scope="session", autouse=True)
def _replace_fsync() -> Iterator[None]:
    """Replace fsync by a check of the file descriptor: tests stop processes, not the machine, so the page cache is
    enough.

    A broker with 50 partitions would wait for hundreds of fsync calls when it stops. Tests of flushing replace fsync
    themselves, to count the calls or make them fail.
    """

    def check(file: int | IO[bytes]) -> None:
        os.fstat(file if isinstance(file, int) else file.fileno())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", check)
        yield


@pytest.fixture(scope="session", params=BROKERS)
def server(request: pytest.FixtureRequest) -> "Iterator[Target]":
    """A broker for the whole session; each test creates its own topics."""
    from kafkalet.conformance.playing.target import Target

    from .oracle.apache_kafka import ApacheKafka, missing

    kind, release = request.param
    if kind == "kafkalet":
        with kafkalet.Broker(kafka_version=release) as broker:
            yield Target(broker.bootstrap_servers)
    elif reason := missing(release):
        pytest.skip(reason)
    else:
        with ApacheKafka(release) as kafka:
            yield Target(kafka.bootstrap_servers)


@pytest.fixture
def broker(server: "Target") -> "Iterator[Client]":
    """A client connected to kafkalet or to Apache Kafka."""
    from .wire.behaviour.client import Client

    client = Client(server)
    yield client
    client.close()
