"""`kafkalet_spark.dumping.dump`: repeated dumps contain the records that consumers see."""

import fcntl
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet_spark.dumping import dump as module
from kafkalet_spark.dumping.dump import LOCK, DumpRefused, dump, dump_options, plan
from kafkalet_spark.dumping.dump_files import WrittenFile
from kafkalet_spark.dumping.dump_runs import STAGING, DumpRun
from kafkalet_spark.dumping.manifest import read_manifest
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.positions import DataLoss
from spark.tests.spark.history import ConsumedRecord, History

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(spark: "SparkSession", out: Path, source: dict[str, str], file_format: str = "parquet") -> DumpRun | None:
    return dump(spark, dump_options(source, str(out), file_format), lambda _: None, clock=ManualClock())


def seen(table: "DataFrame") -> list[ConsumedRecord]:
    rows = table.selectExpr("*", "unix_millis(timestamp) as ms").collect()
    found = [
        ConsumedRecord(
            row["topic"], row["partition"], row["offset"], _bytes(row["key"]), _bytes(row["value"]), row["ms"],
            row["timestampType"],
            row["headers"] and tuple((each["key"], _bytes(each["value"])) for each in row["headers"]),
        )
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def test_dump_has_the_records_that_a_consumer_sees(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    done = run(spark, tmp_path, {"path": str(written.directory), "isolationLevel": "read_committed"})
    assert done is not None
    assert seen(spark.read.parquet(str(tmp_path))) == written.plain + written.committed
    assert done.records == len(written.plain) + len(written.committed)
    assert not (tmp_path / STAGING).exists()
    assert run(spark, tmp_path, {"path": str(written.directory), "isolationLevel": "read_committed"}) is None


def test_dump_from_broker_equals_dump_from_directory(
    spark: "SparkSession", written: History, serving: str, tmp_path: Path
) -> None:
    source = {"kafka.bootstrap.servers": serving, "subscribe": "plain,txn", "isolationLevel": "read_committed"}
    run(spark, tmp_path, source)
    assert seen(spark.read.parquet(str(tmp_path))) == written.plain + written.committed


def test_second_run_adds_new_records(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    source = {"path": str(written.directory), "subscribe": "plain"}
    first = {**source, "endingOffsets": '{"plain":{"0":100,"1":0,"2":250}}'}
    one = run(spark, tmp_path, first)
    assert one is not None
    assert one.records == 350
    other = {**source, "maxBytesPerTask": "20k"}
    two = run(spark, tmp_path, other)
    assert two is not None
    assert two.number == 2
    assert {(part.partition, part.start) for part in two.covered} == {(0, 100), (1, 0), (2, 250)}
    assert seen(spark.read.parquet(str(tmp_path))) == written.plain


def test_file_name_has_its_offsets(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    done = run(spark, tmp_path, {"path": str(written.directory), "subscribe": "plain"})
    assert done is not None
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("topic=*/*/*/*")) == sorted(
        file.path for file in done.files
    )
    for file in done.files:
        name = file.path.rpartition("/")[2]
        assert name == f"{file.first_offset:020}-{file.last_offset:020}.000001.parquet"
        assert file.path.startswith(f"topic=plain/partition={file.partition}/date=2023-11-1")


def test_json_lines_have_the_same_records(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    source = {"path": str(written.directory), "subscribe": "txn", "includeBatch": "true"}
    run(spark, tmp_path, source, "jsonl")
    lines = [json.loads(line) for path in tmp_path.glob("topic=*/*/*/*") for line in path.read_text().splitlines()]
    lines.sort(key=lambda line: line["offset"])
    assert [(line["offset"], line["value"].encode()) for line in lines] == [
        (record.offset, record.value) for record in written.uncommitted
    ]
    assert {line["transactional"] for line in lines} == {True, False}
    assert spark.read.json(str(tmp_path)).count() == len(lines)


def test_failed_run_leaves_no_files(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    broken = tmp_path / "data"
    shutil.copytree(written.directory, broken)
    log = max((broken / "plain-1").glob("*.log"), key=lambda path: path.stat().st_size)
    content = bytearray(log.read_bytes())
    content[-10] ^= 0xFF
    log.write_bytes(content)
    out, source = tmp_path / "out", {"path": str(broken), "subscribe": "plain"}
    with pytest.raises(Exception, match="cannot be read at position"):
        run(spark, out, source)
    assert list(out.glob("topic=*")) == []
    assert read_manifest(str(out)).run == 0
    done = run(spark, out, {**source, "mode": "DROPMALFORMED"})
    assert done is not None
    assert not (out / STAGING).exists()
    assert 0 < done.records < len(written.plain)


def test_run_follows_its_plan(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    options = dump_options({"path": str(written.directory), "subscribe": "txn"}, str(tmp_path / "out"), "parquet")
    planned = plan(options)
    assert [(each.topic, each.partition, each.start) for each in planned.ranges] == [("txn", 0, 0)]
    assert not (tmp_path / "out").exists()
    heard: list[Any] = []
    done = dump(spark, options, heard.append, clock=ManualClock())
    assert done is not None
    assert heard == [planned]
    assert done.covered == planned.covered
    assert plan(options).covered == []


def test_plan_includes_unfinished_run(
    spark: "SparkSession", written: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    options = dump_options({"path": str(written.directory), "subscribe": "txn"}, str(tmp_path), "parquet")
    with monkeypatch.context() as patched:
        patched.setattr(module, "finish", killed)
        with pytest.raises(Killed):
            dump(spark, options, lambda _: None)
    assert not list(tmp_path.glob("topic=*"))
    assert plan(options).covered == []
    assert dump(spark, options, lambda _: None) is None
    assert seen(spark.read.parquet(str(tmp_path))) == written.uncommitted


def files_of(out: Path) -> list[Path]:
    return sorted(path for path in out.glob("topic=*/**/*") if path.is_file())


@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_small_files_of_many_tasks_are_merged(
    spark: "SparkSession", written: History, tmp_path: Path, file_format: str
) -> None:
    source = {"path": str(written.directory), "subscribe": "plain", "maxBytesPerTask": "10k"}
    options = dump_options(source, str(tmp_path / "merged"), file_format)
    phases: list[tuple[int, int]] = []
    done = dump(spark, options, lambda _: None, merging=lambda *phase: phases.append(phase), clock=ManualClock())
    assert done is not None
    folders = {path.parent for path in files_of(tmp_path / "merged")}
    assert len(files_of(tmp_path / "merged")) == len(done.files) == len(folders)
    (phase,) = phases
    assert phase[0] >= 1
    read = spark.read.parquet if file_format == "parquet" else spark.read.json
    assert read(str(tmp_path / "merged")).count() == len(written.plain)
    if file_format == "parquet":
        assert seen(spark.read.parquet(str(tmp_path / "merged"))) == written.plain


def test_files_have_about_the_target_size(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    source = {"path": str(written.directory), "subscribe": "plain", "maxBytesPerTask": "10k"}
    options = dump_options(source, str(tmp_path), "parquet", "none", target_file_bytes="20k", date_folders="none")
    done = dump(spark, options, lambda _: None, clock=ManualClock())
    assert done is not None
    sizes = [file.size_bytes for file in done.files]
    assert max(sizes) < 60_000
    assert sum(size < 8_000 for size in sizes) <= len({file.partition for file in done.files})
    assert seen(spark.read.parquet(str(tmp_path))) == written.plain


def test_date_folders_can_be_disabled(spark: "SparkSession", written: History, tmp_path: Path) -> None:
    source = {"path": str(written.directory), "subscribe": "plain", "maxBytesPerTask": "10k"}
    options = dump_options(source, str(tmp_path), "parquet", date_folders="none")
    first = dump_options(
        {**source, "endingOffsets": '{"plain":{"0":100,"1":0,"2":250}}'}, *options[1:2], "parquet", date_folders="none"
    )
    for each in (first, options):
        assert dump(spark, each, lambda _: None, clock=ManualClock()) is not None
    assert [str(path.parent.relative_to(tmp_path)) for path in files_of(tmp_path)] == [
        "topic=plain/partition=0", "topic=plain/partition=0",
        "topic=plain/partition=1",
        "topic=plain/partition=2", "topic=plain/partition=2",
    ]  # fmt: skip
    assert seen(spark.read.parquet(str(tmp_path))) == written.plain


# Without Spark


def test_dump_without_date_folders_setting_continues_by_day(written: History, tmp_path: Path) -> None:
    options = dump_options({"path": str(written.directory)}, str(tmp_path), "parquet")
    found = plan(options)
    settings = {name: text for name, text in module._settings(options, found.read).items() if name != "dateFolders"}
    module_write(tmp_path, DumpRun(1, "", settings, [], []).after(found.manifest))
    assert plan(options).manifest.run == 1
    with pytest.raises(DumpRefused, match="was dumped with dateFolders=day, but none was requested"):
        plan(dump_options({"path": str(written.directory)}, str(tmp_path), "parquet", date_folders="none"))


@pytest.mark.parametrize("size", ["many", "0", "-5"])
def test_invalid_target_size_is_rejected(size: str) -> None:
    with pytest.raises(BadOption, match="target file size must be in bytes"):
        dump_options({"path": "/d"}, "/o", "parquet", target_file_bytes=size)


def test_recreated_topic_is_a_loss(written: History, tmp_path: Path) -> None:
    options = dump_options({"path": str(written.directory), "subscribe": "txn"}, str(tmp_path), "parquet")
    found = plan(options)
    done = DumpRun(1, "", module._settings(options, found.read), found.covered, [])
    other = done.after(found.manifest)._replace(topic_ids={"txn": "another"})
    module_write(tmp_path, other)
    with pytest.raises(DataLoss, match=r"txn-0 was dumped to offset .* its topic was recreated"):
        plan(options)


def module_write(out: Path, manifest: Any) -> None:
    from kafkalet_spark.dumping.manifest import write_manifest

    write_manifest(str(out), manifest)


def test_run_with_other_settings_is_rejected(written: History, tmp_path: Path) -> None:
    options = dump_options({"path": str(written.directory)}, str(tmp_path), "parquet")
    found = plan(options)
    module_write(tmp_path, DumpRun(1, "", module._settings(options, found.read), [], []).after(found.manifest))
    assert plan(options).manifest.run == 1
    for source, file_format, words in [
        ({"includeBatch": "true"}, "parquet", "was dumped with includeBatch=false, but true was requested"),
        ({"isolationLevel": "read_committed"}, "parquet", "isolationLevel=read_uncommitted, but read_committed"),
        ({}, "jsonl", "format=parquet, but jsonl was requested"),
    ]:
        with pytest.raises(DumpRefused, match=words):
            plan(dump_options({"path": str(written.directory), **source}, str(tmp_path), file_format))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("avro",), "format must be one of parquet, jsonl, not avro"),
        (("parquet", "brotli"), "compression of parquet must be one of zstd, snappy, gzip, lz4, none, not brotli"),
        (("jsonl", "snappy"), "compression of jsonl must be one of none, gzip, zstd, not snappy"),
    ],
)
def test_invalid_format_or_compression_is_rejected(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadOption, match=words):
        dump_options({"path": "/d"}, "/o", *arguments)


def test_file_url_is_accepted_and_object_store_is_rejected() -> None:
    assert dump_options({"path": "/d"}, "file:///o", "parquet").out == "/o"
    with pytest.raises(BadOption, match="not s3a://bucket/o"):
        dump_options({"path": "/d"}, "s3a://bucket/o", "parquet")


def test_permissive_mode_is_rejected() -> None:
    with pytest.raises(BadOption, match="mode must be FAILFAST or DROPMALFORMED"):
        dump_options({"path": "/d", "mode": "permissive"}, "/o", "parquet")


def test_concurrent_run_is_rejected(written: History, tmp_path: Path) -> None:
    options = dump_options({"path": str(written.directory)}, str(tmp_path), "parquet")
    with open(tmp_path / LOCK, "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DumpRefused, match=r"another dump into .* is running"), module._alone(options.out):
            pass
    with module._alone(options.out):
        pass


def test_files_on_another_machine_are_reported(
    spark: "SparkSession", written: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: Any) -> list[WrittenFile]:
        return [WrittenFile("_staging/a/0.parquet", "txn", 0, "2013-01-01", 0, 1, 2, 3)]

    monkeypatch.setattr(module, "_write", elsewhere)
    options = dump_options({"path": str(written.directory), "subscribe": "txn"}, str(tmp_path), "parquet")
    with pytest.raises(DumpRefused, match="shared between this machine"):
        dump(spark, options, lambda _: None)
    assert read_manifest(str(tmp_path)).run == 0
