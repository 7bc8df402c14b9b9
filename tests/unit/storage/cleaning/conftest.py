"""Ends the threads of durable directories after each test."""

from collections.abc import Iterator

import pytest

from .cleaned_place import CleanedPlace


@pytest.fixture(autouse=True)
def _flushers_end() -> Iterator[None]:
    yield
    for directory in CleanedPlace.opened:
        directory.environment.flusher.close()
    CleanedPlace.opened.clear()
