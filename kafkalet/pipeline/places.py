"""The origin that the options name, and how a split of it is read."""

from __future__ import annotations

from collections.abc import Iterator

from .broker_origin import BrokerOrigin, broker_parts
from .directory_origin import DirectoryOrigin, file_parts
from .live.reading import LiveSplit
from .options import ReadOptions
from .origin import AnySplit, Origin, Part


def origin_of(options: ReadOptions, *, streaming: bool = False) -> Origin:
    """The directories, or the broker."""
    return BrokerOrigin(options) if options.live else DirectoryOrigin(options, streaming=streaming)


def parts(split: AnySplit, options: ReadOptions) -> Iterator[Part]:
    """The pieces of a split, in the order of the log."""
    return broker_parts(split, options) if isinstance(split, LiveSplit) else file_parts(split, options)
