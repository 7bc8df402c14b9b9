"""Hooks and fixtures that all tests share, those of kafkalet_spark included (spark/tests/conftest.py).

`make test` runs the tests without the marker `slow`, and `make test-all` those with it, so that each test is run by one
of them. The tests below the directories in `SLOW` get the marker here; other tests set it themselves.

The fixture `broker` is a client of kafkalet emulating a Kafka release. With `-m oracle` (`make oracle`) the same tests
also run against Apache Kafka of that release; without it they are deselected, and if Java or Maven is missing they are
skipped with that reason.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import settings

import kafkalet

from .garbage import collect_and_freeze
from .source import ROOT

if TYPE_CHECKING:
    from kafkalet_conformance.playing.target import Target

    from .wire.behavior.client import Client

TESTS = (ROOT / "tests", ROOT / "spark" / "tests")
KINDS = ("unit", "wire", "recorded", "clients", "spark", "rules", "fuzz", "torture")
SLOW = (ROOT / "tests" / "fuzz", ROOT / "tests" / "torture", ROOT / "spark" / "tests")
MEMORY = "/dev/shm"
MEMORY_BYTES = 4 << 30
"""The space that must be free in `MEMORY`: much more than the temporary files of the tests without `slow`."""

# Shells start jobs in the background with SIGINT ignored, which the programs that tests interrupt would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: on a shared machine the duration of an example says little about kafkalet. The examples are the same on
# every run, so that a failure is due to the change under test; the profile `long` searches for new ones.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)  # make quick
settings.register_profile("long", deadline=None, max_examples=4000)  # --hypothesis-profile=long
settings.load_profile("ci")

RELEASES = ("3.9", "4.4")
BROKERS = [pytest.param(("kafkalet", release), id=f"kafkalet-{release}") for release in RELEASES]
BROKERS += [pytest.param(("kafka", r), id=f"kafka-{r}", marks=pytest.mark.oracle) for r in RELEASES]


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory if there is room for them, unless the environment names another directory.

    The tests create, rename and delete many thousand files; on a disk, that takes half of their time.
    """
    if "not slow" in config.option.markexpr and "TMPDIR" not in os.environ and _is_usable(MEMORY):
        directory = tempfile.mkdtemp(prefix="kafkalet-tests-", dir=MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
        os.environ["TMPDIR"] = tempfile.tempdir = directory  # for the workers of xdist, too


def _is_usable(directory: str) -> bool:
    if not os.path.isdir(directory):
        return False
    volume = os.statvfs(directory)
    may_execute = not volume.f_flag & os.ST_NOEXEC  # some tests write programs
    return may_execute and volume.f_bavail * volume.f_frsize >= MEMORY_BYTES


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test with its directory, and with `slow` if all tests of the directory are."""
    if (kind := _kind_of(item.path)) in KINDS:
        item.add_marker(kind)
    if _is_below_slow(item.path):
        item.add_marker("slow")


def _kind_of(path: Path) -> str:
    return next(path.relative_to(tests).parts[0] for tests in TESTS if tests in path.parents)


@cache
def _is_below_slow(path: Path) -> bool:
    return any(parent in SLOW for parent in path.parents)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules without a test that `-m` selects: those in `SLOW` need packages that others do not need."""
    chosen = config.option.markexpr
    if "not slow" in chosen and (collection_path in SLOW or _is_below_slow(collection_path)):
        return True
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    if chosen == "slow" and not _is_below_slow(collection_path):
        return "mark.slow" not in text or None
    if "oracle" not in chosen:
        return "\npytestmark = pytest.mark.oracle\n" in text or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need Apache Kafka, unless `-m oracle` selects them."""
    if "oracle" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("oracle")]
        items[:] = [item for item in items if not item.get_closest_marker("oracle")]
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Shuffle the modules, in the same way in each xdist worker: in some directories, modules that wait are neighbors,
    and each worker begins with a part of the list. The modules about the source stay together, so that only one worker
    parses it.
    """
    place = item.path.parent if _kind_of(item.path) == "rules" else item.path
    return crc32(place.relative_to(ROOT).as_posix().encode())


@pytest.hookimpl(wrapper=True, trylast=True)  # inside the wrapper that turns warnings into errors
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Disable the garbage collector while tests are collected: nearly all objects are kept, and their number would
    trigger many full collections, which take a sixth of the time.
    """
    gc.disable()
    try:
        _import_modules(session.config)
        return (yield)
    finally:
        gc.enable()


def _import_modules(config: pytest.Config) -> None:
    """Let each xdist worker begin the imports at a different module. In a new checkout, each then compiles a part of
    the modules, instead of all workers compiling the same ones, which takes longer than the rest of the collection.
    """
    if not hasattr(config, "workerinput"):
        return
    chosen = [Path(argument.partition("::")[0]).absolute() for argument in config.args]
    modules = [
        path
        for path in sorted(path for tests in TESTS for path in tests.rglob("test_*.py"))
        if any(path.is_relative_to(directory) for directory in chosen) and not pytest_ignore_collect(path, config)
    ]
    first = len(modules) * int(config.workerinput["workerid"].removeprefix("gw")) // config.workerinput["workercount"]
    for path in modules[first:] + modules[:first]:
        with suppress(Exception, pytest.skip.Exception):  # pytest imports it again, and reports the error
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Exclude the modules and the tests of the run from garbage collection, because they live until the run ends."""
    collect_and_freeze()
    gc.set_threshold(10_000, 10, 10)


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
    from kafkalet_conformance.playing.target import Target

    from .oracle.apache_kafka import ApacheKafka, missing

    kind, release = request.param
    if kind == "kafkalet":
        with kafkalet.Broker(version=release) as broker:
            yield Target(broker.bootstrap_servers)
    elif reason := missing(release):
        pytest.skip(reason)
    else:
        with ApacheKafka(release) as kafka:
            yield Target(kafka.bootstrap_servers)


@pytest.fixture
def broker(server: "Target") -> "Iterator[Client]":
    """A client connected to kafkalet or to Apache Kafka."""
    from .wire.behavior.client import Client

    client = Client(server)
    yield client
    client.close()
