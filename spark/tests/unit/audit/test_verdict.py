"""The verdict as JSON and as text."""

from __future__ import annotations

import json
from pathlib import Path

from kafkalet_spark.audit.comparing import Comparison
from kafkalet_spark.audit.verdict import Verdict

from .audited import audited, batch, flip, make, segments, write_log


def test_sound_log_agrees(tmp_path: Path) -> None:
    verdict = audited(make(tmp_path).path)
    assert (verdict.agrees, verdict.exit_status, verdict.findings) == (True, 0, [])
    *lines, last = verdict.lines()
    assert lines[0] == "read: 1 of 1 partition, 3 of 3 segments, 5,087 of 5,087 bytes"
    assert "checked: records: 106 records" in lines
    assert last == "1 partition, 3 segments, 5,087 bytes, 94 records: everything agrees"


def test_disagreement_is_reported_with_its_position(tmp_path: Path) -> None:
    made = make(tmp_path)
    path = segments(made)[0]
    flip(path, 40)
    verdict = audited(made.path)
    first, on_start, *_, last = verdict.lines()
    assert first.startswith("checksum: ")
    assert first.endswith(f"(a.b-c-0; offset 0; {path}, byte 0)")
    assert on_start == "    Kafka: serves the batch; consumers, followers and the cleaner fail at it"
    assert last.endswith("1 disagreement")
    assert (verdict.agrees, verdict.exit_status) == (False, 1)


def test_omitted_findings_are_counted(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(4 * at) for at in range(40)]))
    verdict = audited(directory)
    assert (verdict.disagreements, len(verdict.findings), verdict.left_out) == (39, 20, 19)
    assert "    19 more of the same kind in this file" in verdict.lines()


def test_json_has_causes_findings_and_partitions(tmp_path: Path) -> None:
    made = make(tmp_path)
    flip(segments(made)[0], 40)
    verdict = audited(made.path)
    result = json.loads(verdict.as_json())
    assert result["agrees"] is False
    assert result["findings"][0]["check"] == "checksum"
    assert result["findings"][0]["position"] == 0
    (partition,) = result["partitions"]
    assert partition["topic"] == "a.b-c"
    assert partition["log_end_offset"] == verdict.total("log_end_offset")
    assert result["compared_with_broker"] is None


def test_comparison_with_a_broker_is_in_the_text() -> None:
    verdict = Verdict((), Comparison("b:1", 10, 0, (), ()))
    assert "compared 10 lookups with b:1: 0 disagreements" in list(verdict.lines())
    assert json.loads(verdict.as_json())["compared_with_broker"]["lookups"] == 10
