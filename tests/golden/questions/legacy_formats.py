"""Topics in message formats v0 and v1 (message.format.version), on the last release that made them."""

from tests.golden.asking import Asking, Step, at, batch, record, scenario

OLD = ("2.8",)


def message_set(magic: int, *records: int | Step, codec: str = "none", **more: object) -> Step:
    return {"magic": magic, "codec": codec, "records": batch(*records)["records"]} | more


def everywhere(ask: Asking, t: str, *offsets: int, note: str = "", versions: tuple[int, ...] = (0, 2, 4, 11)) -> None:
    for version in versions:
        for offset in offsets:
            ask.fetch(f"fetch v{version} offset {offset}{note}", at(t, offset), version=version)


def lookups(ask: Asking, t: str, *times: int, note: str = "") -> None:
    for version in (0, 1, 5):
        for ts in (-1, -2, *times):
            more: Step = {"max_num_offsets": 5} if version == 0 else {}
            ask.time(f"v{version} time {ts}{note}", t, ts, version, **more)


@scenario("legacy_formats", "Format v0: batches of every format and codec become v0.", OLD, legacy=True)
def legacy_090_codecs(ask: Asking) -> None:
    for codec in ("none", "gzip", "snappy", "lz4"):
        t = ask.topic(codec, message_format_version="0.9.0")
        for magic, version in ((0, 1), (1, 2), (2, 7)):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"{codec} magic {magic}", version=version)
        everywhere(ask, t, 0, 3, 5, note=f" {codec}", versions=(0, 2) if codec == "gzip" else (11,))
        lookups(ask, t, 0, note=f" {codec}")


@scenario("legacy_formats", "Format v1: times are kept, wrappers have relative offsets inside.", OLD, legacy=True)
def legacy_010_codecs(ask: Asking) -> None:
    for codec in ("none", "gzip", "snappy", "lz4"):
        t = ask.topic(codec, message_format_version="0.10.0")
        for magic, version in ((0, 1), (1, 2), (2, 7)):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"{codec} magic {magic}", version=version)
        everywhere(ask, t, 0, 3, 5, note=f" {codec}", versions=(0, 2) if codec == "gzip" else (11,))
        lookups(ask, t, 0, 6, 11, note=f" {codec}")


@scenario(
    "legacy_formats", "Format v1 with times out of order, in one wrapper and in several messages.", OLD, legacy=True
)
def legacy_010_times(ask: Asking) -> None:
    t = ask.topic(message_format_version="0.10.2")
    ask.produce(t, message_set(1, 50, 10, 40, codec="gzip"))
    ask.produce(t, message_set(1, 60))
    ask.produce(t, message_set(1, 20, 70, 30))
    ask.produce(t, message_set(1, 5, 6, codec="gzip"))
    lookups(ask, t, 0, 11, 41, 51, 61, 70, 71)
    ask.delete_records(t, 1)
    lookups(ask, t, 0, 11, 41, note=" start 1")
    everywhere(ask, t, 1, 4, note=" start 1", versions=(0, 2, 11))


@scenario("legacy_formats", "Format v1 with LogAppendTime: the wrapper tells the time of all.", OLD, legacy=True)
def legacy_010_append_time(ask: Asking) -> None:
    t = ask.topic(message_format_version="0.10.2", message_timestamp_type="LogAppendTime")
    for magic, version in ((0, 1), (1, 2), (2, 7)):
        for codec in ("none", "gzip"):
            made = message_set(magic, 10, 5, codec=codec) if magic < 2 else batch(10, 5, codec=codec)
            ask.produce(t, made, case=f"magic {magic} {codec}", version=version)
    everywhere(ask, t, 0, 2, 9, versions=(0, 2, 11))
    lookups(ask, t, 0)


@scenario(
    "legacy_formats", "What new features become on old formats: headers, producer ids, transactions.", OLD, legacy=True
)
def legacy_010_refused(ask: Asking) -> None:
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


@scenario(
    "legacy_formats",
    "The format of a topic changes while it is filled: each part stays as it was written.",
    OLD,
    legacy=True,
)
def legacy_mixed(ask: Asking) -> None:
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


@scenario(
    "legacy_formats", "Limits over old formats: cut messages in old versions, whole ones in new.", OLD, legacy=True
)
def legacy_limits(ask: Asking) -> None:
    t = ask.topic(message_format_version="0.10.2")
    ask.produce_each(t, [message_set(1, record(n, {"fill": "x", "size": 40})) for n in range(3)])
    for version in (0, 2, 3, 4, 11):
        for limit in (1, 30, 66, 74, 75, 140, 148, 150):
            ask.fetch(f"v{version} {limit} bytes", at(t, 0, 0, limit), version=version)


@scenario(
    "legacy_formats", "A topic of the newest format in this release: sessions, epochs and times.", OLD, legacy=True
)
def legacy_newest(ask: Asking) -> None:
    t = ask.topic()
    ask.produce(t, batch(10, 30, 20), version=7)
    ask.produce(t, message_set(1, 40, codec="gzip"), version=2)
    for version in ask.versions("ListOffsets"):
        for ts in (-1, -2, -3, 25, 41):
            ask.time(f"v{version} {ts}", t, ts, version)
    everywhere(ask, t, 0, 3, 4, versions=(0, 2, 4, 11, 12))
