"""Findings with a common cause are grouped."""

from __future__ import annotations

from kafkalet_spark.audit.causes import causes_in_directory, causes_in_log, causes_together
from kafkalet_spark.audit.findings import SHOWN, Findings

LOG = "/d/t-0/00000000000000000010.log"
INDEX = "/d/t-0/00000000000000000010.index"


def faults(findings: Findings) -> list[tuple[str, list[str]]]:
    return [
        (cause.finding.fault, [finding.fault for finding in cause.consequences]) for cause in causes_in_log(findings)
    ]


def test_missing_batch_explains_later_index_entries() -> None:
    findings = Findings("t", 0)
    findings.add("offset-index", "early", file=INDEX, position=0, offset=11)
    findings.add("offset-index", "late", file=INDEX, position=8, offset=20)
    findings.add("missing", "gone", file=LOG, position=100, offset=15, end_offset=18)
    assert faults(findings) == [("offset-index", []), ("missing", ["offset-index"])]


def test_missing_batch_does_not_explain_index_entries_of_other_segments() -> None:
    findings = Findings("t", 0)
    findings.add("missing", "gone", file=LOG, position=100, offset=15)
    findings.add("offset-index", "other", file=INDEX.replace("10.", "50."), position=8, offset=60)
    assert faults(findings) == [("missing", []), ("offset-index", [])]


def test_number_of_consequences_includes_those_that_were_only_counted() -> None:
    findings = Findings("t", 0)
    findings.add("missing", "gone", file=LOG, position=100, offset=15)
    for at in range(SHOWN + 165):
        findings.add("offset-index", "late", file=INDEX, position=8 * at, offset=20 + at)
    (cause,) = causes_in_log(findings)
    assert (cause.finding.fault, cause.following, cause.left_out) == ("missing", SHOWN + 165, 165)
    first, *shown = cause.lines()
    assert first == "185 consequences: 20 offset-index, and 165 more"
    assert len(shown) == 3


def test_each_loss_explains_later_findings() -> None:
    findings = Findings("t", 0)
    for offset in (15, 30):
        findings.add("checksum", "wrong", file=LOG, position=offset, offset=offset)
        findings.add("sequence", "skipped", file=LOG, position=offset + 5, offset=offset + 5)
    assert faults(findings) == [("checksum", ["sequence"]), ("checksum", ["sequence"])]


def test_wrong_entries_of_one_file_are_one_cause() -> None:
    findings = Findings("t", 0)
    for at in range(3):
        findings.add("offset-index", "wrong", file=INDEX, position=8 * at, offset=at)
    findings.add("time-index", "wrong", file=INDEX.replace("index", "timeindex"), position=0, offset=0)
    assert faults(findings) == [("offset-index", ["offset-index"] * 2), ("time-index", [])]


def test_damaged_batches_are_separate_causes() -> None:
    findings = Findings("t", 0)
    for offset in range(3):
        findings.add("checksum", "wrong", file=LOG, position=offset, offset=offset)
    assert faults(findings) == [("checksum", [])] * 3


def test_faults_in_files_explain_responses_of_a_broker() -> None:
    findings = Findings("t", 0)
    findings.add("list-offsets", "other", file="/d/t-0", offset=3)
    assert faults(findings) == [("list-offsets", [])]
    findings.add("broker", "less", fault="broker-has-less", file="/d/t-0", offset=0)
    assert faults(findings) == [("broker-has-less", ["list-offsets"])]


def test_truncated_index_explains_its_missing_entry() -> None:
    findings = Findings("t", 0)
    findings.add("txn-index", "torn", fault="torn-txnindex", file=INDEX.replace("index", "txnindex"))
    findings.add("txn-index", "lacks", fault="no-txn-entry", file=LOG, position=0, offset=12)
    assert faults(findings) == [("torn-txnindex", ["no-txn-entry"])]


def test_renamed_directory_explains_missing_partition() -> None:
    findings = Findings()
    findings.add("directory", "gone", fault="partition-gone", file="/d/t-1")
    findings.add("directory", "gone", fault="partition-gone", file="/d/t-12")
    findings.add("directory", "name", fault="foreign-directory", file="/d/t-1.bak")
    causes = {cause.finding.file: [each.file for each in cause.consequences] for cause in causes_in_directory(findings)}
    assert causes == {"/d/t-12": [], "/d/t-1.bak": ["/d/t-1"]}


def test_missing_partitions_of_a_topic_are_one_cause() -> None:
    findings = Findings()
    for number in range(50):
        findings.add("directory", "gone", fault="partition-gone", file=f"/d/__consumer_offsets-{number}")
    (cause,) = causes_in_directory(findings)
    assert cause.following == 49


def test_corrupt_shared_file_is_reported_once() -> None:
    found = []
    for partition in range(3):
        findings = Findings("t", partition)
        fault = "corrupt-recovery-point-offset-checkpoint"
        findings.add("checkpoint", "bad", fault=fault, file="/d/recovery-point-offset-checkpoint", position=2)
        found += causes_in_log(findings)
    (cause,) = causes_together(found)
    assert (cause.finding.topic, cause.following) == (None, 0)
