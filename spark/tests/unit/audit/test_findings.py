"""A limited number of findings is kept, and the others are counted."""

from __future__ import annotations

from kafkalet_spark.audit.findings import SHOWN, Findings


def test_finding_has_its_position() -> None:
    findings = Findings("a", 3)
    findings.add("order", "wrong", file="/x/0.log", position=17, offset=5)
    assert str(findings.found[0]) == "order: wrong (a-3; offset 5; /x/0.log, byte 17)"


def test_first_findings_per_fault_and_file_are_kept() -> None:
    findings = Findings("a", 0)
    for at in range(50):
        findings.add("order", "wrong", file="x", offset=at)
        findings.add("order", "wrong", file="y", offset=at)
    assert len(findings.found) == 2 * SHOWN
    assert findings.total == 100
    assert findings.left_out() == [("order", "x", 50 - SHOWN), ("order", "y", 50 - SHOWN)]


def test_merged_findings_are_summed() -> None:
    whole = Findings("a", 0)
    for _ in range(3):
        part = Findings("a", 0)
        for at in range(30):
            part.add("order", "wrong", file="x", offset=at)
        part.add("file", "strange", file="y")
        whole.merge(part)
    assert whole.total == 93
    assert len(whole.found) == SHOWN + 3
    assert whole.left_out() == [("order", "x", 90 - SHOWN)]
