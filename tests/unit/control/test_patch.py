"""Tests of JSON Patch on messages."""

from typing import Any

import pytest

from kafkalet.control.patch import Patch
from kafkalet.protocol.messages.metadata import MetadataResponse


def response() -> MetadataResponse:
    topic = MetadataResponse.Topic(name="a", partitions=[])
    return MetadataResponse(throttle_time_ms=5, brokers=[], topics=[topic])


def operation(op: str, path: str, value: Any = None) -> dict[str, Any]:
    return {"op": op, "path": path, "value": value}


def test_field_is_replaced() -> None:
    patch = Patch([operation("replace", "/throttle_time_ms", 7), operation("add", "/topics/0/name", "b")])
    found = patch(None, response())
    assert (found.throttle_time_ms, found.topics[0].name) == (7, "b")


def test_element_is_removed() -> None:
    assert Patch([operation("remove", "/topics/0")])(None, response()).topics == []


@pytest.mark.parametrize("path", ["/missing", "/topics/1/name", "/topics/x", "topics", ""])
def test_path_without_a_field_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="the MetadataResponse has no"):
        Patch([operation("replace", path, 1)])(None, response())
