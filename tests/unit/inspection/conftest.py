"""A partition, built once."""

from pathlib import Path

import pytest

from .sample import build, copy


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An intact data directory with the partition t-0. Tests must not change it."""
    return build(tmp_path_factory.mktemp("inspection") / "data")


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    """A copy of the data directory that a test may damage."""
    return copy(built, tmp_path / "data")


@pytest.fixture
def partition(data: Path) -> Path:
    return data / "t-0"
