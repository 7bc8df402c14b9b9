import struct
from typing import Any, get_args

import pytest

from kafkalet.protocol import wire
from kafkalet.protocol.wire import Wire

FIXED = {"Bool": 1, "Int8": 1, "Int16": 2, "UInt16": 2, "Int32": 4, "Int64": 8, "Float64": 8, "Uuid": 16}


def how(annotation: Any) -> Wire:
    return next(part for part in get_args(annotation) if isinstance(part, Wire))


@pytest.mark.parametrize(("name", "size"), FIXED.items())
def test_fixed_types_have_the_size_in_their_name(name: str, size: int) -> None:
    assert struct.calcsize(">" + how(getattr(wire, name)).code) == size


@pytest.mark.parametrize(("name", "size"), [("String", 2), ("Bytes", 4), ("Records", 4), ("OutgoingRecords", 4)])
def test_other_types_have_a_length_prefix(name: str, size: int) -> None:
    assert not how(getattr(wire, name)).code
    assert struct.calcsize(">" + how(getattr(wire, name)).length) == size


def test_received_and_sent_records_have_the_same_wire_format() -> None:
    assert how(wire.Records) == how(wire.OutgoingRecords)
