"""The generated files of the clients for Go, Java and Node are up to date."""

from pathlib import Path

import pytest

from tools.clients import CLIENTS, files

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CLIENTS).as_posix())
def test_file_is_written_from_the_document(path: Path) -> None:
    assert path.read_text() == FILES[path], "run .venv/bin/python -m tools.clients"
