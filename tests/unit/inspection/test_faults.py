"""Faults are counted, and those of one kind in one file are shown up to a limit."""

from kafkalet.inspection.faults import Finding, Report, Severity


def test_finding_names_file_position_and_check() -> None:
    found = Finding(Severity.FAULT, "t-0/x.log", 61, "checksum", "is wrong")
    assert str(found) == "t-0/x.log at byte 61: checksum: is wrong"


def test_faults_of_one_kind_in_a_file_are_only_counted_after_a_limit() -> None:
    found: list[Finding] = []
    report = Report(found.append)
    for position in range(Report.MOST_ALIKE + 5):
        report.fault("a.log", position, "checksum", "is wrong")
    report.fault("b.log", 0, "checksum", "is wrong")
    report.finish()
    assert report.faults == Report.MOST_ALIKE + 6
    assert [each.message for each in found][-2:] == ["is wrong", "5 more faults of this kind"]


def test_notes_of_one_kind_in_a_directory_are_only_counted_after_a_limit() -> None:
    found: list[Finding] = []
    report = Report(found.append)
    for number in range(Report.MOST_NOTES + 2):
        report.note(f"t-0/{number}.index", "padding", "zeros")
    report.finish()
    assert (report.notes, report.faults) == (Report.MOST_NOTES + 2, 0)
    assert (found[-1].path, found[-1].message) == ("t-0", "2 more notes of this kind")
