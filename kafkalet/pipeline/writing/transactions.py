"""Producers, transactions and their markers, by seed."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """What producers do."""

    transactional_share: float = 0.0
    aborted_share: float = 0.0
    open_transactions: int = 0
    transaction_records: int = 100
    producers: int = 0
    first_producer_id: int | None = None
    seed: int = 0
