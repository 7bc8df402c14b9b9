"""Tables for people, from JSON values."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

MAX_CELL = 120


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows in aligned columns below a header. Columns of numbers and sizes are aligned to the right."""
    given = [list(row) for row in rows]
    cells = [list(header), *([cell(value) for value in row] for row in given)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(header))]
    right = [
        name == "SIZE" or (bool(given) and all(isinstance(row[index], int | None) for row in given))
        for index, name in enumerate(header)
    ]
    return "\n".join(
        "  ".join(
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def cell(value: Any) -> str:
    """Return a value as one line without control characters, shortened."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        value = ",".join(map(str, value))
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value)[: MAX_CELL + 1])
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 3]}..."


def data_cell(value: str | None, encoding: str = "text") -> str | None:
    """Return a key or value as one string, in which null, an empty string, `-` and base64 can be told apart."""
    if value is None:
        return None
    if encoding == "base64":
        return f"base64:{value}"
    return json.dumps(value) if value in ("", "-") or value.startswith("base64:") else value


BLOCK_ROWS = 500


def long_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table of any length. Columns are aligned in blocks of BLOCK_ROWS rows.

    A column is left out of a block if it has no values there (None or False). The header is repeated when the columns
    change or become wider.
    """
    left = iter(rows)
    shown = ""
    while block := list(islice(left, BLOCK_ROWS)):
        used = [at for at in range(len(header)) if any(row[at] is not None and row[at] is not False for row in block)]
        first, *lines = table([header[at] for at in used], [[row[at] for at in used] for row in block]).split("\n")
        if first != shown:
            yield first
            shown = first
        yield from lines
