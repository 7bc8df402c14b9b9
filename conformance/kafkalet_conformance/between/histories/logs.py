"""Histories of logs: produced, rejected and deleted records, and offsets looked up by timestamp."""

from typing import Any

from .history import HEADER_CHANGES, History

OLD_CODECS = ("none", "none", "gzip", "snappy", "lz4")


def producing(h: History) -> None:
    h.make_topics()
    for _ in range(h.dice.randint(4, 25)):
        h.weighted(
            (5, h.write),
            (5, lambda: idempotent(h)),
            (6, lambda: changed(h)),
            (2, lambda: several(h)),
            (2, lambda: odd(h)),
            (1, h.delete),
            (1, lambda: list_offsets(h)),
        )
    read_all(h)


def idempotent(h: History) -> None:
    place, version = h.place(), h.version("Produce", 3, 11)
    batches = [h.batch(place[0], version)]
    h.idempotent(batches[0], place)
    if h.chance(0.1):
        batches[0]["transactional"] = True
    h.write_at(place, batches, version)


def changed(h: History) -> None:
    """Produce a batch with changed header fields."""
    place, version = h.place(), h.version("Produce", 3, 11)
    batch = h.batch(place[0], version)
    if h.chance(0.2):
        h.idempotent(batch, place)
    batch["set"] = {}
    for _ in range(h.of(1, 1, 1, 2)):
        batch["set"] |= h.dice.choice(HEADER_CHANGES)
    if h.chance(0.15):
        batch["records"][h.dice.randrange(len(batch["records"]))]["offset_delta"] = h.of(0, 1, 2, 3, 7, -1)
    h.write_at(place, [batch], version)


def several(h: History) -> None:
    """Produce several batches, partitions or topics in a request, possibly with duplicates."""
    version = h.version("Produce", 3, 11)
    if h.chance(0.3):
        place = h.place()
        h.write_at(place, [h.batch(place[0], version) for _ in range(h.of(0, 2, 2, 3))], version)
        return
    wanted: list[tuple[str, Any]] = []
    for _ in range(h.of(2, 3, 4)):
        place = h.place()
        batch = h.batch(place[0], version)
        if h.chance(0.2):
            batch["set"] = h.dice.choice(HEADER_CHANGES)
        wanted.append((place[0], {"index": place[1], "records": [batch]}))
    body = {"acks": h.of(-1, 1), "timeout_ms": 5000, "topics": h.grouped(wanted)}
    h.ask("Produce", version, body)


def odd(h: History) -> None:
    place, version = h.place(), h.version("Produce", 3, 11)
    batches: list[Any] = [h.batch(place[0], version)]
    if h.chance(0.3):
        batches.append(h.of({"raw": "00"}, {"raw": "00" * 12}, {"raw": "00" * 17}, {"raw": "00" * 61}))
    if h.chance(0.3):
        batches = [old_batch(h, place[0], h.of(0, 1)), *h.of([], batches)]
    acks = h.of(-1, 1, 0, 2, -2)
    if acks:
        h.write_at(place, batches, version, acks=acks)
    else:
        partitions = [{"index": place[1], "records": batches}]
        body = {"acks": 0, "timeout_ms": 5000, "topics": [{"name": place[0], "partitions": partitions}]}
        h.cases += 1
        h.step("request_then_apiversions", case=f"{h.cases} acks 0", api="Produce", version=version, body=body)


def listing(h: History) -> None:
    h.make_topics()
    for _ in range(h.dice.randint(2, 12)):
        h.write()
    for _ in range(h.dice.randint(6, 20)):
        h.weighted((2, h.write), (1, h.delete), (1, h.epoch_end), (10, lambda: list_offsets(h)))


def list_offsets(h: History) -> None:
    version = h.version("ListOffsets")
    wanted = []
    for _ in range(h.of(1, 1, 1, 2, 3, 5)):
        topic, partition = h.place()
        asked: dict[str, Any] = {"partition_index": partition}
        asked["timestamp"] = h.of(
            -1, -2, -3, -4, h.of(-5, -6, -7, 0, 2**63 - 1), *(t + h.of(0, 0, 1, -1) for t in h.times())
        )
        if version == 0:
            asked["max_num_offsets"] = h.of(1, 2, 5, 100, 0, 2, 10)
        if version >= 4:
            asked["current_leader_epoch"] = h.of(-1, -1, -1, 0, 1, -2)
        wanted.append((topic, asked))
    body = {"replica_id": h.of(-1, -1, -1, -1, -2, 1, 5, -3), "topics": h.grouped(wanted)}
    if version >= 2:
        body["isolation_level"] = h.of(0, 0, 1, 1, 2)
    h.ask("ListOffsets", version, body)


def legacy(h: History) -> None:
    """Produce old message formats with old requests, and fetch them in every version."""
    if 0 not in h.versions("Produce") and 0 not in h.versions("Fetch"):
        producing(h)
        return
    h.make_topics(make=lambda: legacy_configs(h))
    for _ in range(h.dice.randint(4, 20)):
        h.weighted(
            (6, lambda: write_old(h)),
            (2, h.write),
            (4, lambda: read_old(h)),
            (1, h.delete),
            (1, lambda: list_offsets(h)),
        )
    read_all(h)


def legacy_configs(h: History) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if h.chance(0.3):
        out["message_timestamp_type"] = "LogAppendTime"
    if h.chance(0.2):
        out["index_interval_bytes"] = h.of(0, 1, 80)
    if h.chance(0.15):
        out["cleanup_policy"] = "compact"
        out["min_compaction_lag_ms"] = "9000000000000"
    if h.chance(0.2):
        out["max_message_bytes"] = h.of(50, 100, 200)
    if h.chance(0.1) and h.release < "4":
        out["message_downconversion_enable"] = "false"
    if h.release < "3" and h.chance(0.8):
        out["message_format_version"] = h.of("0.9.0", "0.10.0", "0.10.0", "0.11.0")
    return out


def old_batch(h: History, topic: str, magic: int) -> dict[str, Any]:
    made = h.batch(topic, 0, OLD_CODECS)
    made.pop("ts_type", None)
    for record in made["records"]:
        record.pop("headers", None)
    if h.chance(0.1) and magic:
        made["ts_type"] = "append"
    if h.chance(0.1):
        made["inner_offsets"] = "zero"
    if h.chance(0.1):
        made["set"] = h.of(
            {"crc": 1}, {"length": 5}, {"length": 13}, {"length": -5}, {"truncate": 3}, {"base_offset": 7},
            {"attributes": 4}, {"attributes": 7}, {"attributes": 1}, {"attributes": 8}, {"magic": 1}, {"magic": 2},
            {"magic": 0},
        )  # fmt: skip
    return made | {"magic": magic}


def write_old(h: History) -> None:
    place, version = h.place(), h.version("Produce", 0, 2)
    magic = h.of(0, 1) if h.chance(0.2) else int(version == 2)
    batches = [old_batch(h, place[0], magic)]
    if h.chance(0.15):
        batches.append(old_batch(h, place[0], h.of(0, 1, 1)))
    h.write_at(place, batches, version)


def read_old(h: History) -> None:
    wanted = []
    for _ in range(h.of(1, 1, 2)):
        place = h.place()
        size = h.of(1, 50, 200, 1 << 20, 1 << 20, 1 << 20)
        wanted.append((place[0], {"partition": place[1], "fetch_offset": h.offset(place), "partition_max_bytes": size}))
    version = h.version("Fetch", 0, 3 if 3 in h.versions("Fetch") else 5)
    h.ask("Fetch", version, {"topics": h.grouped(wanted, "topic")})


def read_all(h: History) -> None:
    for topic, partition in h.places:
        asked = {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1 << 22}
        h.ask("Fetch", h.version("Fetch", 4, 12), {"topics": [{"topic": topic, "partitions": [asked]}]})
        times = {"partition_index": partition, "timestamp": -1}
        h.ask("ListOffsets", 7, {"topics": [{"name": topic, "partitions": [times]}]})
        times = {"partition_index": partition, "timestamp": -3}
        h.ask("ListOffsets", 7, {"topics": [{"name": topic, "partitions": [times]}]})
