import sys

import pytest

from kafkalet.protocol.records import streams


def test_the_package_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert streams.cramjam_or_none() is not None
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert streams.cramjam_or_none() is None
