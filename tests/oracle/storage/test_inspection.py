"""`kafkalet inspect` shows what DumpLogSegments of Apache Kafka shows, and finds no fault in Kafka's files."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet.cli import main
from kafkalet_conformance.notation.codecs import NAMES
from tests.oracle.apache_kafka import ApacheKafka, missing
from tests.unit.inspection.sample import build
from tests.unit.storage.place import CONFIG, Place
from tests.unit.storage.producing import T0, record

from .test_interchange import fill

pytestmark = pytest.mark.oracle

FIELDS = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "count": "count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "leader_epoch",
    "isTransactional": "transactional",
    "position": "position",
    "CreateTime": "max_timestamp",
    "size": "size",
    "magic": "magic",
    "compresscodec": "codec",
    "crc": "crc",
    "isvalid": "crc_valid",
}
"""The fields that DumpLogSegments prints for a batch, and their names in the rows of `kafkalet inspect`."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    if reason := missing("3.9"):
        pytest.skip(reason)
    with ApacheKafka("3.9") as running:
        yield running


def dumped(path: Path) -> list[dict[str, Any]]:
    """Return the batches that DumpLogSegments prints."""
    tools = ApacheKafka("3.9")
    tools.directory = path.parent
    command = tools._java("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(path))
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    batches = []
    for line in output.splitlines():
        found = dict(re.findall(r"(\w+): (\S+)", line))
        if "baseOffset" in found:
            row = {name: json.loads(found[theirs]) if theirs != "compresscodec" else found[theirs]
                   for theirs, name in FIELDS.items()}  # fmt: skip
            batches.append(row)
        elif "endTxnMarker" in found:
            batches[-1] |= {
                "control": found["endTxnMarker"],
                "coordinator_epoch": int(found["coordinatorEpoch"]),
            }
    return batches


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the batches that `kafkalet inspect` shows, with the fields of DumpLogSegments."""
    assert main(["inspect", "--json", str(path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = [*FIELDS.values(), "control", "coordinator_epoch"]
    return [{name: row[name] for name in names if name in FIELDS.values() or row[name] is not None} for row in rows]


def test_batches_of_apache_kafka_are_shown_as_by_dump_log_segments(
    kafka: ApacheKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(kafka, "inspected")
    shutil.copytree(kafka.directory / "data", tmp_path / "data")
    kinds = set()
    for path in (tmp_path / "data" / "inspected-0").glob("*.log"):
        found = inspected(path, capsys)
        assert found == dumped(path)
        kinds |= {row.get("control") for row in found}
    assert kinds == {None, "COMMIT", "ABORT"}


def test_directory_of_apache_kafka_has_no_faults(
    kafka: ApacheKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(kafka, "verified")
    shutil.copytree(kafka.directory / "data", tmp_path / "data")
    assert main(["inspect", "--verify", str(tmp_path / "data")]) == 0, capsys.readouterr().out


def test_batches_of_kafkalet_are_shown_as_by_dump_log_segments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := missing("3.9"):
        pytest.skip(reason)
    build(tmp_path / "data")
    place = Place(tmp_path / "codecs", CONFIG, durable=True)
    for codec in NAMES:
        place.append(record(T0), record(T0 + 1, value="x" * 100), codec=codec)
    place.directory.close()
    for path in [*(tmp_path / "data" / "t-0").glob("*.log"), *(tmp_path / "codecs" / "t-0").glob("*.log")]:
        assert inspected(path, capsys) == dumped(path)
