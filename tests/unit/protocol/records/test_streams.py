import sys

import pytest

from kafkalet.protocol.records import streams


def test_cramjam_or_none_returns_none_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert streams.cramjam_or_none() is not None
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert streams.cramjam_or_none() is None


def test_output_over_the_limit_is_refused() -> None:
    output = streams.Output(3)
    output.add(b"ab")
    assert (output.left, output.content()) == (1, b"ab")
    with pytest.raises(streams.TooLarge):
        output.add(b"cd")


def test_large_output_waits_for_other_computations(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[None] = []
    monkeypatch.setattr(streams, "use_much_memory", lambda: waits.append(None))
    monkeypatch.setattr(streams, "MUCH_MEMORY_BYTES", 4)
    output = streams.Output(100)
    output.add(b"four")
    assert not waits
    output.add(b"!")
    assert waits
