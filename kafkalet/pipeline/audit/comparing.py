"""What a live broker answers to ListOffsets, beside what the bytes say."""

from __future__ import annotations

from typing import NamedTuple


class Comparison(NamedTuple):
    """How much was compared."""

    broker: str
    lookups: int
    disagreements: int

    def __str__(self) -> str:
        return f"{self.broker} was asked {self.lookups:,} times, {self.disagreements:,} answers disagree"
