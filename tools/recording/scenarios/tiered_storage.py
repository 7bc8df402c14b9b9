"""Tiered storage (KIP-405), with Kafka's LocalTieredStorage: configuration, copying, reading and deletion."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch, one
from tools.recording.definitions import Scenarios

scenario = Scenarios("tiered_storage", tiered=True)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
TOPIC = 2
SET, DELETE = 0, 1


def segments_of(ask: ScenarioBuilder, size: int = 100) -> dict[str, str]:
    """Return the configuration for segments of `size` bytes, which hold one batch each if they are small."""
    return {"segment_bytes" if ask.release < "4" else "internal_segment_bytes": str(size)}


def tiered(ask: ScenarioBuilder, name: str = "t", **configs: str) -> str:
    """Create a topic with tiered storage and one batch per segment."""
    given: dict[str, Any] = segments_of(ask) | {"remote_storage_enable": "true"} | configs
    return ask.topic(name, **given)


def wait_for(ask: ScenarioBuilder, topic: str, timestamp: int, offset: int) -> None:
    """Wait until ListOffsets returns this offset."""
    body = {"replica_id": -1, "topics": [one(topic, partition_index=0, timestamp=timestamp)]}
    ask.until("ListOffsets", 9, body, "topics.0.partitions.0.offset", offset)


def only_remote(ask: ScenarioBuilder, name: str = "t", **configs: str) -> str:
    """Create a topic with five batches of two records, of which four are only in remote storage."""
    t = tiered(ask, name, **({"local_retention_bytes": "1"} | configs))
    ask.produce_each(t, [batch(n * 10, n * 10 + 5) for n in range(5)])
    wait_for(ask, t, EARLIEST_LOCAL, 8)
    return t


def special(ask: ScenarioBuilder, topic: str, note: str = "") -> None:
    """Look up every special timestamp that the release has."""
    v = ask.versions("ListOffsets")[-1]
    for timestamp in (EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING):
        ask.time(f"{timestamp}{note}", topic, timestamp, v)


def creating(ask: ScenarioBuilder, case: str, **configs: str) -> None:
    """Create a topic with this configuration."""
    made = {"name": ask.unique(f"t{len(ask.steps)}"), "num_partitions": 1, "replication_factor": 1}
    made["configs"] = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
    ask.request(case, "CreateTopics", 5, {"topics": [made], "timeout_ms": 30000, "validate_only": False})


def altering(ask: ScenarioBuilder, case: str, topic: str, *, deletes: str = "", **configs: str) -> None:
    """Change the configuration of a topic."""
    edits: list[Step] = [
        {"name": name.replace("_", "."), "config_operation": SET, "value": value} for name, value in configs.items()
    ]
    if deletes:
        edits.append({"name": deletes, "config_operation": DELETE, "value": None})
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": edits}
    ask.request(case, "IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})


@scenario("KIP-405 LogConfig.validateTopicLogConfigValues", level="must")
def tiered_created(ask: ScenarioBuilder) -> None:
    """CreateTopics refuses compacted topics with tiered storage, local retention above the total retention, and
    different local and total retention if nothing is copied."""
    on = {"remote_storage_enable": "true"}
    creating(ask, "tiered", **on)
    for policy in ("compact", "compact,delete", "delete"):
        creating(ask, policy, **on, cleanup_policy=policy)
    for unit in ("ms", "bytes"):
        for local, total in (
            ("1000", "100"),
            ("-1", "100"),
            ("100", "100"),
            ("-2", "100"),
            ("1000", "-1"),
            ("-1", "-1"),
        ):
            given = {f"local_retention_{unit}": local, f"retention_{unit}": total}
            creating(ask, f"{unit} {local} of {total}", **on, **given)
            creating(ask, f"{unit} {local} of {total}, not tiered", **given)
            creating(ask, f"{unit} {local} of {total}, read only", **on, **given, remote_log_copy_disable="true")
    creating(ask, "local retention of the default", **on, local_retention_ms="999999999")
    creating(ask, "below the minimum", **on, local_retention_ms="-3")
    creating(ask, "not a boolean", remote_storage_enable="yes")
    for name in ("remote_log_copy_disable", "remote_log_delete_on_disable"):
        creating(ask, f"{name}, not tiered", **{name: "true"})
        creating(ask, f"{name}, tiered", **on, **{name: "true"})
    if ask.release >= "4.4":
        for unit in ("ms", "bytes"):
            for lag, local in (("1000", "100"), ("100", "100"), ("-1", "100"), ("1000", "-2")):
                given = {f"remote_copy_lag_{unit}": lag, f"local_retention_{unit}": local, f"retention_{unit}": "500"}
                creating(ask, f"copy lag {lag} {unit}, local {local}", **on, **given)


@scenario("KIP-405 KIP-950 LogConfig.validateTurningOffRemoteStorageWithDelete", level="must")
def tiered_reconfigured(ask: ScenarioBuilder) -> None:
    """IncrementalAlterConfigs enables tiered storage at any time, but disables it only with
    remote.log.delete.on.disable."""
    t, plain = tiered(ask), ask.topic("plain")
    altering(ask, "compacted", t, cleanup_policy="compact")
    altering(ask, "disabled", t, remote_storage_enable="false")
    altering(ask, "removed", t, deletes="remote.storage.enable")
    altering(ask, "read only", t, remote_log_copy_disable="true")
    altering(ask, "other retention, read only", t, local_retention_bytes="1")
    altering(ask, "copying again", t, remote_log_copy_disable="false")
    altering(ask, "local above total", t, retention_bytes="10", local_retention_bytes="11")
    altering(ask, "local below total", t, retention_bytes="10", local_retention_bytes="9")
    altering(ask, "total below local", t, retention_bytes="8")
    altering(ask, "disabled with deletion", t, remote_storage_enable="false", remote_log_delete_on_disable="true")
    altering(ask, "enabled again", t, remote_storage_enable="true")
    altering(ask, "plain topic enabled", plain, remote_storage_enable="true")
    altering(ask, "disabled, deletion in a later request", plain, remote_log_delete_on_disable="true")
    altering(ask, "removed, deletion set before", plain, deletes="remote.storage.enable")


@scenario("KIP-405 KIP-1005 KIP-1023 UnifiedLog.fetchOffsetByTimestamp", level="must")
def tiered_offsets(ask: ScenarioBuilder) -> None:
    """ListOffsets returns the bounds of both tiers, and finds timestamps in both."""
    t = tiered(ask)
    special(ask, t, ", empty")
    ask.produce(t, batch(0, 5))
    special(ask, t, ", one segment")
    ask.produce_each(t, [batch(n * 10, n * 10 + 5) for n in range(1, 5)])
    wait_for(ask, t, LATEST_TIERED, 7)
    special(ask, t, ", copied")
    altering(ask, "local retention", t, local_retention_bytes="1")
    wait_for(ask, t, EARLIEST_LOCAL, 8)
    special(ask, t, ", deleted locally")
    for ts in (0, 1, 5, 6, 14, 15, 31, 35, 36, 40, 45, 46):
        ask.time(f"+{ts}", t, ts)
    ask.time("latest, read_committed", t, LATEST, isolation_level=1)
    ask.delete_records(t, 3)
    special(ask, t, ", records deleted")
    for ts in (0, 6, 14, 15, 20):
        ask.time(f"+{ts}, records deleted", t, ts)


@scenario("KIP-405 RemoteLogManager.read ReplicaManager.readFromLog", level="must")
def tiered_fetched(ask: ScenarioBuilder) -> None:
    """Fetch reads from remote storage what is not on the local disk anymore, one segment at a time."""
    t = only_remote(ask)
    for offset in range(11):
        ask.fetch(f"offset {offset}", at(t, offset))
    ask.fetch("beyond the end", at(t, 11))
    for size in (0, 1, 50, 70, 100):
        ask.fetch(f"{size} bytes", at(t, 0, max_bytes=size))
        ask.fetch(f"{size} bytes of the response", at(t, 0), max_bytes=size)
    ask.fetch("many bytes wanted", at(t, 2), min_bytes=100000, max_wait_ms=200)
    ask.fetch("read_committed", at(t, 2), isolation_level=1)
    ask.delete_records(t, 3)
    for offset in (0, 2, 3, 4):
        ask.fetch(f"offset {offset}, records deleted", at(t, offset))


@scenario("KIP-405 ReplicaManager.fetchMessages DelayedRemoteFetch")
def tiered_fetched_together(ask: ScenarioBuilder) -> None:
    """A Fetch of several partitions reads them in order, from remote storage and from the local disk."""
    t, u, local = only_remote(ask), only_remote(ask, "u"), ask.topic("local")
    ask.produce_each(local, [batch(n) for n in range(2)])
    ask.fetch("remote, local", at(t, 0), at(local, 0))
    ask.fetch("local, remote", at(local, 0), at(t, 0))
    ask.fetch("remote, remote", at(t, 0), at(u, 2))
    ask.fetch("remote, local, remote", at(t, 6), at(local, 1), at(u, 0))
    ask.fetch("remote and an error", at(t, 0), at(u, 99))


@scenario("KIP-405 RemoteLogManager.addAbortedTransactions")
def tiered_transactions(ask: ScenarioBuilder) -> None:
    """With read_committed, Fetch lists the aborted transactions of remote segments, from their transaction indexes."""
    t = tiered(ask)
    for number, committed in enumerate((True, False, False, True)):
        name = f"X{number + 1}"
        fields = ask.transaction(t, name)
        ask.produce(t, batch(number, base_sequence=0, **fields), transactional_id=f"${name}")
        ask.end(name, committed)
        ask.stable_at(t, 2 * number + 2)
    ask.produce_each(t, [batch(9), batch(10)])
    wait_for(ask, t, LATEST_TIERED, 8)
    for offset in range(10):
        ask.fetch(f"offset {offset}, local", at(t, offset), isolation_level=1)
    altering(ask, "local retention", t, local_retention_bytes="1")
    wait_for(ask, t, EARLIEST_LOCAL, 9)
    for offset in range(10):
        ask.fetch(f"offset {offset}", at(t, offset), isolation_level=1)
        ask.fetch(f"offset {offset}, read_uncommitted", at(t, offset))


@scenario("KIP-405 RemoteLogManager")
def tiered_expired(ask: ScenarioBuilder) -> None:
    """Remote segments are deleted by retention.ms and retention.bytes of both tiers, and below the log start offset."""
    t = only_remote(ask)
    altering(ask, "retention.bytes", t, retention_bytes="200")
    wait_for(ask, t, EARLIEST, 4)
    special(ask, t, ", by size")
    ask.fetch("expired", at(t, 3))
    ask.delete_records(t, 5)
    special(ask, t, ", records deleted")
    altering(ask, "retention.ms", t, retention_ms="1")
    for timestamp, offset in ((LATEST_TIERED, 9), (EARLIEST_LOCAL, 10), (EARLIEST, 10), (MAX_TIMESTAMP, -1)):
        wait_for(ask, t, timestamp, offset)
    special(ask, t, ", by time")


@scenario("KIP-950 RemoteLogManager.stopPartitions UnifiedLog.maybeIncrementLogStartOffset")
def tiered_disabled(ask: ScenarioBuilder) -> None:
    """If tiered storage is disabled for a topic, the log starts with the segments on the local disk."""
    t = only_remote(ask)
    altering(ask, "disabled", t, remote_storage_enable="false", remote_log_delete_on_disable="true")
    wait_for(ask, t, EARLIEST, 8)
    special(ask, t)
    for offset in (0, 7, 8):
        ask.fetch(f"offset {offset}", at(t, offset))
    altering(ask, "enabled again", t, remote_storage_enable="true")
    ask.produce_each(t, [batch(50), batch(60)])
    wait_for(ask, t, LATEST_TIERED, 10)
    wait_for(ask, t, EARLIEST_LOCAL, 11)
    special(ask, t, ", enabled again")


@scenario("KIP-950 UnifiedLog.remoteLogEnabledAndRemoteCopyEnabled")
def tiered_read_only(ask: ScenarioBuilder) -> None:
    """With remote.log.copy.disable, nothing more is copied, and copied segments can still be read."""
    t = only_remote(ask)
    altering(ask, "read only", t, remote_log_copy_disable="true", local_retention_bytes="-2")
    ask.produce_each(t, [batch(n * 10) for n in range(5, 8)])
    special(ask, t)
    for offset in (0, 7, 8, 10, 12):
        ask.fetch(f"offset {offset}", at(t, offset))


@scenario("KIP-405 RemoteLogMetadataSerde TopicBasedRemoteLogMetadataManager.newRemoteLogMetadataTopic")
def tiered_metadata_topic(ask: ScenarioBuilder) -> None:
    """The topic __remote_log_metadata exists from the start, is not internal, and has the configuration of its
    manager."""
    name = "__remote_log_metadata"
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    ask.until("Metadata", 4, asked, "topics.0.error_code", 0)
    ask.request("metadata", "Metadata", 4, asked)
    keys = ["cleanup.policy", "retention.ms", "remote.storage.enable", "min.insync.replicas"]
    resource = {"resource_type": TOPIC, "resource_name": name, "configuration_keys": keys}
    ask.request("configuration", "DescribeConfigs", 1, {"resources": [resource], "include_synonyms": False})
