"""What an audit does unless told otherwise."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from kafkalet.pipeline.audit.audit_options import AuditOptions


def test_nothing_is_written_and_nobody_is_asked() -> None:
    options = AuditOptions()
    assert (options.out, options.bootstrap, options.topics, options.compacted) == (None, None, (), ())


def test_options_are_not_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        AuditOptions().seed = 5  # type: ignore[misc]
