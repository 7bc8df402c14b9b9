"""Free the objects that kafka-python leaves behind, within the test that used it.

kafka-python does not close sockets that are still connecting when it is closed. They are part of reference cycles, so
without this, a later test that happens to collect garbage would fail with a ResourceWarning about them.
"""

import gc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.garbage import collect_and_freeze

HERE = Path(__file__).parent
STILL_CONNECTING = r"ignore:unclosed <socket.*laddr=\('0\.0\.0\.0':ResourceWarning"
"""The warning about a socket without a local address, which no broker of these tests has."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and _uses_kafka_python(item.path):
            item.add_marker(pytest.mark.filterwarnings(STILL_CONNECTING))


@pytest.fixture(autouse=True)
def _collect_sockets(request: pytest.FixtureRequest) -> Iterator[None]:
    if not _uses_kafka_python(request.path):
        yield
        return
    collect_and_freeze()
    yield
    gc.collect()


@cache
def _uses_kafka_python(path: Path) -> bool:
    """Return whether a module imports kafka-python, directly or through the applications under test."""
    imports = r"^\s*(from|import) (kafka\b|\.applications\b|\.shop\b)"
    return re.search(imports, path.read_text(), re.MULTILINE) is not None
