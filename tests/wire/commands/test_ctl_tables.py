"""Tests of the tables of `kafkalet ctl` that are derived from schemas."""

from typing import Any

import pytest

from kafkalet.commands.ctl_commands import commands, resolved
from kafkalet.commands.ctl_tables import COLUMNS, SHOWN, shown
from kafkalet.control.routes import areas

SHAPES = {route.name: route.response for area in areas() for route in area}


def lines(command: str, found: Any) -> list[str]:
    return shown(commands()[command].response, found).splitlines()


def test_list_of_objects_is_a_table_with_a_column_for_each_field() -> None:
    connection = {"id": "127.0.0.1:5", "broker": 1, "client_id": "app", "last_request": "Fetch v4"}
    assert lines("connections", {"connections": [connection]}) == [
        "ID           BROKER  CLIENT ID  LAST REQUEST",
        "127.0.0.1:5       1  app        Fetch v4",
    ]


def test_empty_list_is_a_header() -> None:
    assert lines("connections", {"connections": []}) == ["ID  BROKER  CLIENT ID  LAST REQUEST"]


def test_size_of_a_batch_is_exact_because_it_has_a_position() -> None:
    batch = dict.fromkeys(resolved({"$ref": "#/components/schemas/Batch"})["properties"], -1)
    row = lines("partition batches", {"batches": [{**batch, "position": 0, "size_bytes": 5101}], "next_offset": 1})[-1]
    assert "5101 B" in row


def test_number_that_is_minus_one_is_none() -> None:
    segment = {"base_offset": 0, "size_bytes": 5101, "largest_timestamp": -1}
    assert lines("partition segments", {"segments": [segment]})[-1].split() == ["0", "5.0", "KiB", "-"]


def test_empty_list_of_texts_has_no_lines() -> None:
    assert lines("acls", {"acls": []}) == []


def test_list_of_texts_has_one_on_each_line() -> None:
    assert lines("acls", {"acls": ["a", "b"]}) == ["a", "b"]


def test_single_value_is_shown_alone() -> None:
    assert lines("requests count", {"count": 3}) == ["3"]


def test_objects_in_a_cell_are_short() -> None:
    found = {
        "transactional_id": "x",
        "state": "Ongoing",
        "producer_id": 1,
        "producer_epoch": 0,
        "timeout_ms": 9,
        "started_ms": 5,
        "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}],
        "coordinator": 1,
    }
    assert "t-0,t-1" in lines("transaction show", found)[1]


def test_large_objects_in_a_cell_are_counted() -> None:
    member = dict.fromkeys(("member_id", "client_id", "host", "instance_id", "assignment"))
    group = {"group_id": "g", "state": "Empty", "protocol": "classic", "offsets": [], "lag": 0}
    row = lines("groups", {"groups": [{**group, "members": [member, member]}]})[1]
    assert row.split() == ["g", "Empty", "classic", "2", "-", "0"]


@pytest.mark.parametrize("name", [*COLUMNS, *SHOWN])
def test_exceptions_are_of_schemas(name: str) -> None:
    assert any(name in {each.name for each in shape.objects()} for shape in SHAPES.values() if shape is not None)
