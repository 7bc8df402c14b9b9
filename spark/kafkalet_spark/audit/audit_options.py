"""The options of an audit. Defaults come from option_table.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkalet_spark.option_table import AUDIT_DEFAULTS


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The options of an audit. By default, it covers all logs in the directories and contacts no broker."""

    out: str | None = None
    """The output directory for facts.parquet, verdict.json and report.txt. None: no files are written."""
    bootstrap: str | None = None
    """host:port of a running broker that serves these logs. Its ListOffsets responses are compared with the logs. The
    audit then covers only records below the high watermark, so the broker may keep writing."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Kafka consumer properties for the connection to that broker."""
    timestamps: int = AUDIT_DEFAULTS["timestamps"]
    """The number of timestamps to look up for each partition and isolation level, in addition to the special
    timestamps."""
    seed: int = AUDIT_DEFAULTS["seed"]
    """The random seed for those timestamps."""
    topics: tuple[str, ...] = ()
    """The topics to audit. Empty: all topics."""
    compacted: tuple[str, ...] = ()
    """Topics in which missing offsets below the last segment are attributed to compaction. For other topics,
    cleaner-offset-checkpoint must show that the log was compacted."""
    max_bytes_per_task: int = AUDIT_DEFAULTS["max-bytes-per-task"]
    """Segments larger than this number of bytes are split among several tasks."""
    chunk_bytes: int = 8 << 20
    """How many bytes of a log a task holds in memory at a time."""
    producer_id_expiration_ms: int = AUDIT_DEFAULTS["producer-id-expiration-ms"]
    """A producer that was idle for longer may continue with any sequence number (producer.id.expiration.ms)."""
