"""Responses of the control API as tables, derived from their schemas. COLUMNS and SHOWN have the exceptions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkalet.control.client import Json
from kafkalet.units import duration, size, utc

from .ctl_commands import Schema, resolved
from .tables import cell, data_cell, table

COLUMNS = {
    "Fault": ("id", "fired", "text"),
    "Record": ("partition", "offset", "timestamp", "key", "headers", "value"),
    "ShareRecord": ("topic", "partition", "offset", "state", "deliveries", "member_id", "key", "value"),
    "Unsupported": (),
    "Topic": ("name", "topic_id", "is_internal", "config"),
}
"""The fields that are shown of an object. The default is all."""
TIMES = ("timestamp", "base_timestamp", "max_timestamp", "largest_timestamp", "now_ms", "started_ms")
UNITS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TIMES, utc),
    "timeout_ms": duration,
    "ahead_ms": lambda ms: f"+{duration(round(ms, -3))}",  # the difference of two clock readings
    "size_bytes": size,
}
"""How the values of fields are shown."""


def shown(schema: Schema | None, found: Json) -> str:
    """Return the response to a request, which has the schema, as text without control characters."""
    name = _name(schema or {})
    if "sent" in found:
        return _rows(("partition", "count", "first_offset", "last_offset"), found["sent"])
    if name in SHOWN:
        return SHOWN[name](found)
    return "\n".join(_tables(schema or {}, found))


def _name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _tables(schema: Schema, found: Json) -> list[str]:
    """Return a table of the plain fields of an object, and one of each list of objects in it."""
    fields = resolved(schema)["properties"]
    lists = {name: each["items"] for name, each in fields.items() if _is_table(each)}
    plain = [name for name in COLUMNS.get(_name(schema), tuple(fields)) if name not in lists]
    if list(fields) == plain and len(plain) == 1:
        [value] = found.values()
        return ["\n".join(map(str, value if isinstance(value, list) else [value]))]
    tables = [_rows(plain, [found])] if plain else []
    for name, item in lists.items():
        tables.append(_rows(COLUMNS.get(_name(item), tuple(resolved(item)["properties"])), found[name]))
    return tables


def _is_table(schema: Schema) -> bool:
    """Whether a field is a list of objects, and its objects are too large for a cell."""
    item = resolved(schema.get("items", {}))
    return item.get("type") == "object" and not _short(item)


def _short(schema: Schema) -> bool:
    return {"topic", "partition"} == set(schema["properties"]) or "value_encoding" in schema["properties"]


def _rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    header = [name.removesuffix("_ms").removesuffix("_bytes").replace("_", " ").upper() for name in columns]
    return table(header, ([_field(row, name) for name in columns] for row in rows))


def _field(row: Mapping[str, Any], name: str) -> Any:
    if f"{name}_encoding" in row:
        return data_cell(row[name], row[f"{name}_encoding"])
    if row[name] == -1:  # none
        return None
    if name == "size_bytes" and "position" in row:
        return f"{row[name]} B"
    return UNITS.get(name, _cell)(row[name])


def _cell(value: Any) -> Any:
    """Return a value of a table. A list of large objects is shown as its length."""
    if isinstance(value, dict):
        if set(value) == {"topic", "partition"}:
            return f"{value['topic']}-{value['partition']}"
        if set(value) == {"name", "value", "value_encoding"}:
            return f"{value['name']}={data_cell(value['value'], value['value_encoding']) or '-'}"
        return ",".join(f"{name}={each}" for name, each in value.items()) or None
    if isinstance(value, list):
        parts = [_cell(each) for each in value]
        return len(value) if any(isinstance(each, dict) and len(each) > 3 for each in value) else parts or None
    return value


def _show_records(found: Json) -> str:
    text = _rows(COLUMNS["Record"], found["records"])
    return f"{text}\nthere are more records; read them with --offset or --limit" if found.get("has_more") else text


def _show_fault(found: Json) -> str:
    """Return a fault, and why requests did not match it if it has not fired."""
    _, *reasons = found["unfired"].split("\n")
    return "\n".join([_rows(COLUMNS["Fault"], [found]), *(map(cell, reasons) if len(reasons) > 1 else ())])


def _show_topics(found: Json) -> str:
    rows = []
    for topic in found["topics"]:
        partitions = topic["partitions"]
        records = sum((each["high_watermark"] or 0) - (each["log_start_offset"] or 0) for each in partitions)
        size_bytes = sum(each["size_bytes"] or 0 for each in partitions)
        replicas = len(partitions[0]["replicas"]) if partitions else 0
        rows.append((topic["name"], len(partitions), replicas, records, size(size_bytes)))
    return table(("TOPIC", "PARTITIONS", "REPLICAS", "OFFSETS", "SIZE"), rows)


def _show_requests(found: Json) -> str:
    return "\n".join(f"{each['connection']:>4} {each['text']}" for each in found["requests"]) or "no requests"


SHOWN: dict[str, Callable[[Json], str]] = {
    "Records": _show_records,
    "FoundRecords": _show_records,
    "Fault": _show_fault,
    "Topics": _show_topics,
    "Requests": _show_requests,
    "ClientConfig": lambda found: str(found["properties"]).rstrip("\n"),
}
"""By the name of the schema."""
