"""Topics with message formats v0 and v1 (message.format.version), recorded from 2.8."""

from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch, record
from tools.recording.definitions import KAFKA_2_8, Scenarios

scenario = Scenarios("old_formats", KAFKA_2_8, legacy=True)


def message_set(magic: int, *records: int | Step, codec: str = "none", **more: object) -> Step:
    return {"magic": magic, "codec": codec, "records": batch(*records)["records"]} | more


def everywhere(
    ask: ScenarioBuilder, t: str, *offsets: int, note: str = "", versions: tuple[int, ...] = (0, 2, 4, 11)
) -> None:
    for version in versions:
        for offset in offsets:
            ask.fetch(f"fetch v{version} offset {offset}{note}", at(t, offset), version=version)


def lookups(ask: ScenarioBuilder, t: str, *times: int, note: str = "") -> None:
    for version in (0, 1, 5):
        for ts in (-1, -2, *times):
            more: Step = {"max_num_offsets": 5} if version == 0 else {}
            ask.time(f"v{version} time {ts}{note}", t, ts, version, **more)


@scenario("LogValidator.validateMessagesAndAssignOffsets", level="detail")
def legacy_090_codecs(ask: ScenarioBuilder) -> None:
    """A topic with format 0 stores batches of every format and codec as messages of format 0."""
    for codec in ("none", "gzip", "snappy", "lz4"):
        t = ask.topic(codec, message_format_version="0.9.0")
        for magic, version in ((0, 1), (1, 2), (2, 7)):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"{codec} magic {magic}", version=version)
        everywhere(ask, t, 0, 3, 5, note=f" {codec}", versions=(0, 2) if codec == "gzip" else (11,))
        lookups(ask, t, 0, note=f" {codec}")


@scenario("KIP-32 LogValidator.validateMessagesAndAssignOffsets", level="detail")
def legacy_010_codecs(ask: ScenarioBuilder) -> None:
    """A topic with format 1 stores batches of every format and codec as messages of format 1; they keep their
    timestamps, and wrappers have relative offsets."""
    for codec in ("none", "gzip", "snappy", "lz4"):
        t = ask.topic(codec, message_format_version="0.10.0")
        for magic, version in ((0, 1), (1, 2), (2, 7)):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"{codec} magic {magic}", version=version)
        everywhere(ask, t, 0, 3, 5, note=f" {codec}", versions=(0, 2) if codec == "gzip" else (11,))
        lookups(ask, t, 0, 6, 11, note=f" {codec}")


@scenario("KIP-33 UnifiedLog.fetchOffsetByTimestamp", level="detail")
def legacy_010_times(ask: ScenarioBuilder) -> None:
    """In a topic with format 1, ListOffsets finds the first message with at least the requested timestamp, even if
    timestamps are out of order."""
    t = ask.topic(message_format_version="0.10.2")
    ask.produce(t, message_set(1, 50, 10, 40, codec="gzip"))
    ask.produce(t, message_set(1, 60))
    ask.produce(t, message_set(1, 20, 70, 30))
    ask.produce(t, message_set(1, 5, 6, codec="gzip"))
    lookups(ask, t, 0, 11, 41, 51, 61, 70, 71)
    ask.delete_records(t, 1)
    lookups(ask, t, 0, 11, 41, note=" start 1")
    everywhere(ask, t, 1, 4, note=" start 1", versions=(0, 2, 11))


@scenario("KIP-32 AbstractLegacyRecordBatch", level="detail")
def legacy_010_append_time(ask: ScenarioBuilder) -> None:
    """In a topic with format 1 and LogAppendTime, all messages of a compressed wrapper have the append time of the
    wrapper."""
    t = ask.topic(message_format_version="0.10.2", message_timestamp_type="LogAppendTime")
    for magic, version in ((0, 1), (1, 2), (2, 7)):
        for codec in ("none", "gzip"):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"magic {magic} {codec}", version=version)
    everywhere(ask, t, 0, 2, 9, versions=(0, 2, 11))
    lookups(ask, t, 0)


@scenario("LogValidator.validateMessagesAndAssignOffsets LogValidator.validateRecord", level="detail")
def legacy_010_refused(ask: ScenarioBuilder) -> None:
    """Topics with format 0 or 1 reject batches with headers, zstd or producer ids, and accept compressed wrappers whose
    inner offsets are all 0."""
    for name, version in (("old", "0.10.2"), ("older", "0.9.0")):
        t = ask.topic(name, message_format_version=version)
        ask.produce(t, batch(record(10, "a", "k", [("h", "x")])), case=f"{version} headers", version=7)
        pid = ask.producer("P1" if name == "old" else "P2")
        fields: Step = {"producer_id": pid, "producer_epoch": 0, "base_sequence": 0}
        ask.produce(t, batch(10, **fields), case=f"{version} producer id", version=7)
        ask.produce(t, batch(10, codec="zstd"), case=f"{version} zstd", version=7)
        ask.produce(t, batch(10, 20), batch(30), case=f"{version} two batches", version=7)
        ask.produce(
            t,
            {"magic": 1, "codec": "gzip", "inner_offsets": "zero", "records": batch(1, 2)["records"]},
            case=f"{version} inner offsets zero",
            version=2,
        )
        everywhere(ask, t, 0, 1, versions=(2, 11))


@scenario("LogValidator.validateMessagesAndAssignOffsets UnifiedLog.append", level="detail")
def legacy_mixed(ask: ScenarioBuilder) -> None:
    """If message.format.version of a topic changes, the messages that are already stored keep their format."""
    t = ask.topic(message_format_version="0.9.0")
    ask.produce(t, batch(10, 20), version=7)
    for n, version in enumerate(("0.10.2", "2.8"), start=1):
        change = {"name": "message.format.version", "config_operation": 0, "value": version}
        body = {"resources": [{"resource_type": 2, "resource_name": t, "configs": [change]}], "validate_only": False}
        ask.setup("IncrementalAlterConfigs", 1, body)
        ask.step("sleep", ms=500)
        ask.produce(t, batch(100 * n, 100 * n + 10), version=7)
        lookups(ask, t, 0, 105, 205, note=f" then {version}")
    everywhere(ask, t, 0, 1, 2, 4, 6)


@scenario("KIP-74 LogSegment.read", level="detail")
def legacy_limits(ask: ScenarioBuilder) -> None:
    """In a topic with format 1, the limits of Fetch cut off messages, and since version 3 the first message is returned
    whole.
    """
    t = ask.topic(message_format_version="0.10.2")
    ask.produce_each(t, [message_set(1, record(n, {"fill": "x", "size": 40})) for n in range(3)])
    for version in (0, 2, 3, 4, 11):
        for limit in (1, 30, 66, 74, 75, 140, 148, 150):
            ask.fetch(f"v{version} {limit} bytes", at(t, 0, 0, limit), version=version)


@scenario("KIP-79 KIP-320 UnifiedLog.fetchOffsetByTimestamp", level="detail")
def legacy_newest(ask: ScenarioBuilder) -> None:
    """Release 2.8 serves ListOffsets and Fetch on a topic with format 2 in all its versions as later releases do,
    except for later special timestamps.
    """
    t = ask.topic()
    ask.produce(t, batch(10, 30, 20), version=7)
    ask.produce(t, message_set(1, 40, codec="gzip"), version=2)
    for version in ask.versions("ListOffsets"):
        for ts in (-1, -2, -3, 25, 41):
            ask.time(f"v{version} {ts}", t, ts, version)
    everywhere(ask, t, 0, 3, 4, versions=(0, 2, 4, 11, 12))


@scenario("KIP-79 ReplicaManager.fetchOffsetForTimestamp", level="detail")
def legacy_special_times(ask: ScenarioBuilder) -> None:
    """Release 2.8 treats negative timestamps that later releases define as timestamps before all records."""
    for name, version in (("a", "0.9.0"), ("b", "0.10.2"), ("c", "2.8")):
        t = ask.topic(name, message_format_version=version)
        for state in ("empty", "filled", "cut"):
            for ts in (-3, -4, -5, -6, -100, -(2**63)):
                for request in (0, 1, 5):
                    more: Step = {"max_num_offsets": 5} if request == 0 else {}
                    ask.offsets(f"{version} {state} v{request} {ts}", t, ts, request, **more)
            if state == "empty":
                ask.produce(t, batch(30, 10, 20), version=7)
            elif state == "filled":
                ask.delete_records(t, 1)


@scenario("KIP-110 RecordsUtil.downConvert", level="detail")
def legacy_zstd(ask: ScenarioBuilder) -> None:
    """Release 2.8 returns UNSUPPORTED_COMPRESSION_TYPE with empty records if Fetch below version 10 cannot return a
    zstd batch."""
    t = ask.topic()
    ask.produce(t, batch(10), version=8)
    ask.produce(t, batch(20, 30, codec="zstd"), version=8)
    everywhere(ask, t, 0, 1, 3, versions=(0, 2, 3, 4, 9, 10))
    u = ask.topic("u", compression_type="zstd")
    ask.produce(u, batch(10), version=7)
    everywhere(ask, u, 0, 1, note=" u", versions=(1, 3, 4, 9, 10))
    v = ask.topic("v", message_downconversion_enable="false", message_format_version="0.10.2")
    ask.produce(v, batch(10), version=7)
    everywhere(ask, v, 0, 1, note=" v", versions=(0, 1, 2, 3, 4))


@scenario("KIP-227 IncrementalFetchContext.updateAndGenerateResponseData", level="detail")
def legacy_sessions(ask: ScenarioBuilder) -> None:
    """In release 2.8, partitions that a session has returned move to its end, even those with an error."""
    t = ask.topic(partitions=3)
    for partition in range(3):
        ask.produce(t, batch(10), partition=partition, version=7)

    def go(case: str, epoch: int, *wanted: Step) -> None:
        body = ask.fetching(*wanted, session_id="$S" if epoch else 0, session_epoch=epoch)
        ask.request(case, "Fetch", 11, body, **({} if epoch else {"bind": {"S": "session_id"}}))

    go("open", 0, at(t, 9, 0), at(t, 1, 1), at(t, 0, 2))
    go("nothing named", 1)
    go("nothing named again", 2)
    ask.produce(t, batch(20), partition=1, version=7)
    go("news of 1", 3)
    go("2 has moved on", 4, at(t, 1, 2))
    go("0 out of range again", 5, at(t, 7, 0))
    go("0 good", 6, at(t, 0, 0))
    go("nothing named", 7)
