"""The stub of the asynchronous kit is up to date."""

from tools import aio_stub


def test_stub_is_up_to_date() -> None:
    assert aio_stub.STUB.read_text() == aio_stub.text(), "run .venv/bin/python -m tools.aio_stub"
