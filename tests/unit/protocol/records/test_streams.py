import sys

import pytest

from kafkalet.protocol.records import streams


def test_cramjam_or_none_returns_none_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert streams.cramjam_or_none() is not None
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert streams.cramjam_or_none() is None
