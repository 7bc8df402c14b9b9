"""The reasons for which connections were closed."""

import pytest

from kafkalet_conformance.clients.observing.rules.frames import Frames
from kafkalet_conformance.clients.observing.rules.rule import Remark
from kafkalet_conformance.clients.observing.sent import Closed


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("", []),
        ("reset by a fault", []),
        ("a frame of -5 bytes", ["frame-size"]),
        ("disconnected within a frame, after 3 bytes", ["frame-complete"]),
    ],
)
def test_reason_is_judged(reason: str, expected: list[str]) -> None:
    remarks = Frames().closed(Closed(1, 0.0, reason))
    assert [each.claim.rule if isinstance(each, Remark) else Frames.CLAIM.rule for each in remarks] == expected
