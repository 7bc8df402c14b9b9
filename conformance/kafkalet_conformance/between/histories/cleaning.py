"""Histories of logs that the broker shortens: by compaction, and by retention.

The log cleaner and retention run at intervals that only properties of the broker change (`log.cleaner.backoff.ms`,
`log.retention.check.interval.ms`). A history waits for them, and is not performed if they take too long.
"""

from typing import Any

from kafkalet_conformance.building import SMALL, T0, Step, one

from .history import NEVER, History
from .logs import list_offsets, read_all

CLEANED_MS = 40_000
SETTLED_MS = 500
"""The time in which the remaining segments of a log are cleaned after the first one."""


def small_topic(h: History, **configs: Any) -> str:
    small = "segment_bytes" if h.release < "4" else "internal_segment_bytes"
    topic = h.topic("t0", 1, **{small: SMALL}, **configs)
    h.configs[topic] = configs
    h.places = [(topic, 0)]
    return topic


def alter(h: History, topic: str, **configs: Any) -> None:
    """Set configurations of the topic; the others keep their values."""
    changes = [{"name": name.replace("_", "."), "config_operation": 0, "value": str(configs[name])} for name in configs]
    resource = {"resource_type": 2, "resource_name": topic, "configs": changes}
    version = h.version("IncrementalAlterConfigs")
    h.setup("IncrementalAlterConfigs", version, {"resources": [resource], "validate_only": False})


def compaction(h: History) -> None:
    """Write keys again and again, let the broker compact the log once, and read what is left."""
    policy = h.of("compact", "compact,delete")
    lags = {"min_compaction_lag_ms": NEVER, "min_cleanable_dirty_ratio": "0.0"}
    topic = small_topic(h, cleanup_policy=policy, delete_retention_ms=h.of(0, 86_400_000), **lags)
    write(h, topic, [("replaced", "x"), ("kept", "x")])
    for _ in range(h.dice.randint(5, 25)):
        records = [(h.of("a", "b", "c", "d"), h.of("x", "yy", None)) for _ in range(h.of(1, 1, 2, 4))]
        write(h, topic, records, codec=h.of("none", "none", "gzip", "lz4"))
    for _ in range(3):
        write(h, topic, [("replaced", {"fill": "z", "size": 150})])  # so that the segments before it are complete
    alter(h, topic, min_compaction_lag_ms=0)
    wait_for_offset(h, topic, T0, 1)
    h.step("sleep", ms=SETTLED_MS)
    h.reached("a compacted log")
    look(h)


def retention(h: History) -> None:
    """Let all records of a log expire."""
    topic = small_topic(h, message_timestamp_type=h.of("CreateTime", "LogAppendTime"))
    for _ in range(h.dice.randint(2, 8)):
        write(h, topic, [("a", {"fill": "z", "size": h.of(10, 60, 100)})])
    alter(h, topic, retention_ms=1)
    wait_for_offset(h, topic, -2, h.end_of((topic, 0)))
    h.reached("a log shortened by retention")
    alter(h, topic, retention_ms=-1)
    look(h)
    write(h, topic, [("a", "x")])
    look(h)


def write(h: History, topic: str, records: list[tuple[str, Any]], codec: str = "none") -> None:
    made: Step = {"magic": 2, "records": [{"ts": T0 + h.cases, "key": key, "value": value} for key, value in records]}
    h.write_at((topic, 0), [made if codec == "none" else made | {"codec": codec}], h.version("Produce", 3, 11))


def wait_for_offset(h: History, topic: str, timestamp: int, offset: int) -> None:
    """Wait until ListOffsets returns an offset."""
    body = {"replica_id": -1, "topics": [one(topic, partition_index=0, timestamp=timestamp)]}
    h.until("ListOffsets", 1, body, "topics.0.partitions.0.offset", offset)
    h.steps[-1]["timeout_ms"] = CLEANED_MS


def look(h: History) -> None:
    read_all(h)
    for _ in range(5):
        list_offsets(h)
    h.epoch_end()
