"""What an audit is asked to do. Defaults are those of the table (option_table.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkalet.pipeline.option_table import AUDIT_DEFAULTS


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The defaults audit everything that lies in the directories, with no broker."""

    out: str | None = None
    """The folder for facts.parquet, verdict.json and report.html; it is made. None: nothing is written."""
    bootstrap: str | None = None
    """host:port of a live broker of these logs, whose answers to ListOffsets are compared with what the bytes say.
    Only what lies below the high watermark it tells is audited then, so that it may be at work meanwhile."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of the connection to it, as a Kafka consumer's."""
    timestamps: int = AUDIT_DEFAULTS["timestamps"]
    """How many timestamps each partition is asked for, under either isolation level, beside the special ones."""
    seed: int = AUDIT_DEFAULTS["seed"]
    """Chooses those timestamps."""
    topics: tuple[str, ...] = ()
    """Only these; empty: all."""
    compacted: tuple[str, ...] = ()
    """Topics whose missing offsets are all taken as compacted away. Others are when the log directory's
    cleaner-offset-checkpoint or the log itself says that a cleaner was there."""
    max_bytes_per_task: int = AUDIT_DEFAULTS["max-bytes-per-task"]
    """A segment of more bytes is audited by several tasks."""
    chunk_bytes: int = 8 << 20
    """What a task holds of a log at a time."""
    producer_id_expiration_ms: int = AUDIT_DEFAULTS["producer-id-expiration-ms"]
    """A producer that was silent for so long may begin with any sequence (producer.id.expiration.ms)."""
    heaviest_keys: int = AUDIT_DEFAULTS["heaviest-keys"]
    """How many keys are named."""
