"""Read the entries of index files without validation.

`kafkalet.inspection` tells the entries from preallocated zeros and from an incomplete entry at the end. The readers in
`kafkalet_spark.logs.indexes` raise an error at the first invalid entry; an audit needs all entries, valid or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.inspection.index_file import IndexFile
from kafkalet.inspection.kinds import Kind
from kafkalet.inspection.reading import ReadOnlyFile
from kafkalet_spark.logs.files import UnreadableFile, reason_of, why_unreadable
from kafkalet_spark.logs.indexes import OFFSET_ENTRY, TIME_ENTRY, TXN_ENTRY

from .findings import Findings

ENTRIES = {Kind.OFFSET_INDEX: OFFSET_ENTRY, Kind.TIME_INDEX: TIME_ENTRY, Kind.TXN_INDEX: TXN_ENTRY}
NAMES = {Kind.OFFSET_INDEX: "offset index", Kind.TIME_INDEX: "time index", Kind.TXN_INDEX: "transaction index"}
CHECKS = {Kind.OFFSET_INDEX: "offset-index", Kind.TIME_INDEX: "time-index", Kind.TXN_INDEX: "txn-index"}


class IndexContents(NamedTuple):
    """The complete entries of an index, and the sizes of the parts that follow them."""

    entries: NDArray[Any]
    torn_bytes: int
    padding_bytes: int


def read_index(path: str, kind: Kind) -> IndexContents:
    """Read an index. Raises FileNotFoundError, UnreadableFile."""
    if (reason := why_unreadable(path)) is not None:
        raise UnreadableFile(path, 0, reason)
    try:
        with ReadOnlyFile(path) as file:
            index = IndexFile(file, kind)
            data = file.read(index.size_bytes, 0)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableFile(path, 0, reason_of(error)) from error
    entries = np.frombuffer(data, ENTRIES[kind], len(data) // index.layout.size_bytes)
    return IndexContents(entries, index.rest_bytes, index.padding_bytes)


def check_layout(
    path: str, kind: Kind, findings: Findings, *, is_reported: bool, is_closed: bool
) -> NDArray[Any] | None:
    """Return the entries of an index; None if it is missing or cannot be read.

    Several tasks may read the same index. With `is_reported`, defects of the whole file become findings: an incomplete
    entry at the end, and zeros in the index of a closed segment.
    """
    try:
        index = read_index(path, kind)
    except FileNotFoundError:
        return None
    except UnreadableFile as error:
        findings.skip(error.path, error.reason)
        return None
    if is_reported:
        suffix = kind.value.removeprefix(".")
        findings.checked[f"{NAMES[kind]} files"] += 1
        if index.padding_bytes and is_closed:
            message = f"{index.padding_bytes:,} bytes of zeros follow the last entry of a segment that is closed"
            findings.add(CHECKS[kind], message, fault=f"padded-{suffix}", file=path)
        if index.torn_bytes:
            message = f"the index ends with an incomplete entry of {index.torn_bytes} bytes"
            findings.add(CHECKS[kind], message, fault=f"torn-{suffix}", file=path)
    return index.entries
