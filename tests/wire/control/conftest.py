"""Fixtures for the tests of the control API."""

from collections.abc import Iterator

import pytest

from .asking import Asking, asking


@pytest.fixture
def api() -> Iterator[Asking]:
    """The control API of one broker."""
    with asking() as found:
        yield found
