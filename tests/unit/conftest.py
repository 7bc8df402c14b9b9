"""Unit tests: they open no network socket and start no JVM.

Tests that need a network socket are in tests/wire, tests that need Spark in spark/tests/spark. A pair of connected
sockets (`socket.socketpair`) is no network socket; every event loop has one. The handlers of brokers in unit tests are
called directly: the brokers have addresses, but do not listen.
"""

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import Any

import pytest

from kafkalet.broker.network import addresses
from kafkalet.broker.network.listener import Listener
from tests.source import ROOT

UNIT = (ROOT / "tests" / "unit", ROOT / "spark" / "tests" / "unit")
NETWORK = (socket.AF_INET, socket.AF_INET6)
STARTS_JVM = ("java", "spark-submit", "spark-class")
FREE_PORTS = count(20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Guard each unit test with its fixtures. pytest calls this for the tests of other directories as well."""
    with guarded() if any(unit in item.path.parents for unit in UNIT) else nullcontext():
        return (yield)


@contextmanager
def guarded() -> Iterator[None]:
    """Fail tests that open a network socket or start a JVM, and let brokers run without sockets."""
    open_socket, start_process = socket.socket.__init__, subprocess.Popen.__init__
    here = threading.current_thread()

    def opened(self: socket.socket, family: int = -1, *args: Any, **options: Any) -> None:
        if family in NETWORK and threading.current_thread() is here:  # others belong to brokers that tests share
            pytest.fail("a unit test opens a network socket; move it to tests/wire, or use socket.socketpair()")
        open_socket(self, family, *args, **options)

    def started(self: subprocess.Popen[Any], args: Any, *rest: Any, **options: Any) -> None:
        program = os.fsdecode(args if isinstance(args, str | bytes | os.PathLike) else args[0])
        if os.path.basename(program) in STARTS_JVM and not program.startswith(tempfile.gettempdir()):
            # the temporary directory contains programs that a test has written as stand-ins for Java
            pytest.fail("a unit test starts a JVM; move it to spark/tests/spark")
        start_process(self, args, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "__init__", opened)
        patch.setattr(subprocess.Popen, "__init__", started)
        patch.setattr(Listener, "bind", lambda self, host, port: (host, port or next(FREE_PORTS)))
        patch.setattr(Listener, "start", lambda self, loop: None)
        patch.setattr(addresses, "ReservedPort", _Unbound)
        yield


class _Unbound:
    """The port of a broker that was stopped and has no socket."""

    def __init__(self, host: str, port: int) -> None:
        pass

    def release(self) -> None:
        pass
