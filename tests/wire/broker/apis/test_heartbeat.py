"""Heartbeat in every version."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Wire, on_the_wire

from .test_join_group import body as join_body


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with on_the_wire() as wire:
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
        yield wire


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_of_a_member_succeeds_in_its_generation(wire: Wire, version: int) -> None:
    group_id = f"v{version}"
    member = wire.ask("JoinGroup", 3, join_body(group_id))["member_id"]
    for generation, code in ((1, Code.NONE), (0, Code.ILLEGAL_GENERATION), (2, Code.ILLEGAL_GENERATION)):
        asked = {"group_id": group_id, "generation_id": generation, "member_id": member}
        assert wire.ask("Heartbeat", version, asked)["error_code"] == code


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_to_a_missing_group_returns_unknown_member_id(wire: Wire, version: int) -> None:
    for group_id, code in (("", Code.INVALID_GROUP_ID), ("unknown", Code.UNKNOWN_MEMBER_ID)):
        asked = {"group_id": group_id, "generation_id": 1, "member_id": "m"}
        assert wire.ask("Heartbeat", version, asked)["error_code"] == code
