"""The default options of an audit."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from kafkalet_spark.audit.audit_options import AuditOptions


def test_default_writes_nothing_and_contacts_no_broker() -> None:
    options = AuditOptions()
    assert (options.out, options.bootstrap, options.topics, options.compacted) == (None, None, (), ())


def test_options_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        AuditOptions().seed = 5  # type: ignore[misc]
