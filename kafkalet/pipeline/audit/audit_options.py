"""The options of an audit. Defaults come from option_table.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkalet.pipeline.option_table import AUDIT_DEFAULTS


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of an audit. By default, it covers all logs in the directories, without a broker."""

    out: str | None = None
    """The directory for facts.parquet, verdict.json and report.html, which is created. None: no files are written."""
    bootstrap: str | None = None
    """host:port of a running broker of these logs, whose ListOffsets responses are compared with the logs.
    The audit then covers only records below the high watermark, so the broker may continue to write."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Kafka consumer properties of the connection to that broker."""
    timestamps: int = AUDIT_DEFAULTS["timestamps"]
    """The number of timestamps to look up for each partition and isolation level, besides the special timestamps."""
    seed: int = AUDIT_DEFAULTS["seed"]
    """The random seed for those timestamps."""
    topics: tuple[str, ...] = ()
    """The topics to audit. Empty: all topics."""
    compacted: tuple[str, ...] = ()
    """Topics whose missing offsets are treated as compacted. For other topics, cleaner-offset-checkpoint or the log
    itself must show that the topic was compacted."""
    max_bytes_per_task: int = AUDIT_DEFAULTS["max-bytes-per-task"]
    """Larger segments are divided between several tasks."""
    chunk_bytes: int = 8 << 20
    """The number of bytes of a log that a task holds at a time."""
    producer_id_expiration_ms: int = AUDIT_DEFAULTS["producer-id-expiration-ms"]
    """After this time without a batch, a producer may continue with any sequence (producer.id.expiration.ms)."""
    heaviest_keys: int = AUDIT_DEFAULTS["heaviest-keys"]
    """The number of most frequent keys to report."""
