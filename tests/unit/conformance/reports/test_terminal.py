"""The results as text for a terminal."""

import io
from dataclasses import replace

import pytest

from kafkalet_conformance.reports.comparison import compare
from kafkalet_conformance.reports.terminal import Progress, Style, compared, listed, report, table_lines
from kafkalet_conformance.results import Difference, Outcome, Run

from .runs import case, differing, every_outcome, result, run, scenario

PLAIN = Style()


def text(of: Run, style: Style = PLAIN) -> str:
    return "\n".join(report(of, style))


def test_difference_has_request_expected_and_actual_value() -> None:
    assert text(run(result(scenario("x"), Outcome.DIFFERS, case("a"), differing("b")))).startswith(
        """\
fetch / x: differs (1 of 2 responses)
  The claim of x.
  level must, KIP-101, LogSegment
  Fetch v4 'b': differs
    request: {topics: [{name: "t", offset: 9223372036854775807}]}
    topics[0].partitions[0].error_code
      expected: 3 UNKNOWN_TOPIC_OR_PARTITION
      actual:   0 NONE
"""
    )


def test_table_counts_scenarios_by_area_api_and_version() -> None:
    lines = list(table_lines(every_outcome(), PLAIN))
    assert " ".join(lines[0].split()) == "area API versions as Kafka differs not served not run unstable failed"
    assert [" ".join(each.split()) for each in lines[1:]] == [
        "fetch Fetch v4 2 1 1",
        "Fetch v5 1 1",
        "groups (other) 1",
        "Fetch v4-6 1",
        "JoinGroup v2 1",
        "metadata Metadata v9 1",
        "all scenarios 1 2 1 1 1 1",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_table_fits_the_terminal(width: int) -> None:
    long = replace(scenario("x"), area="an_area_with_a_long_name" * 2, apis={"ListPartitionReassignments": (0, 1)})
    made = run(*every_outcome().results[:3], result(long, Outcome.NOT_RUN, reason="no"))
    assert max(map(len, table_lines(made, Style(width)))) <= max(width, 60)


def test_reasons_of_scenarios_that_were_not_performed_are_shown() -> None:
    shown = text(every_outcome())
    assert "not served: Fetch v4 is not served (1 scenario)" in shown
    assert "not run: needs a cluster of 3 brokers (1 scenario)" in shown


def test_responses_that_were_not_compared_are_counted() -> None:
    cases = [case("a"), case("b", Outcome.NOT_SERVED), case("c", Outcome.NOT_SERVED)]
    shown = text(run(result(scenario("x"), Outcome.AS_KAFKA, *cases)))
    assert "not served: 2 responses of 1 scenario whose others were compared" in shown


def test_notes_are_shown() -> None:
    assert "note: the broker has num.partitions=3" in text(run(notes=("the broker has num.partitions=3",)))


@pytest.mark.parametrize("verbose", [False, True])
def test_text_of_the_broker_cannot_control_the_terminal(verbose: bool) -> None:
    shown = text(every_outcome(), Style(verbose=verbose, hexadecimal=True))
    assert shown.replace("\n", "").isprintable()


def test_colors_are_only_for_terminals() -> None:
    assert "\x1b[31mdiffers\x1b[0m" in text(every_outcome(), Style(color=True))


def test_huge_values_are_abbreviated() -> None:
    assert len(text(every_outcome())) < 5000
    assert "(10,000 in all)" in text(every_outcome(), Style(width=300))


def test_many_cases_and_differences_are_abbreviated() -> None:
    many = [Difference(f"a[{number}]", 1, 2) for number in range(50)]
    cases = [case(f"c{number}", Outcome.DIFFERS, *many[number:]) for number in range(20)]
    shown = text(run(result(scenario("x"), Outcome.DIFFERS, *cases)))
    assert "... 50 differences in all (--verbose shows them)" in shown
    assert "... and 14 more responses (--verbose shows them)" in shown


def test_neighboring_cases_with_the_same_differences_are_shown_once() -> None:
    cases = [differing(f"c{version}", version=version) for version in range(4, 9)]
    shown = text(run(result(scenario("x"), Outcome.DIFFERS, *cases)))
    assert "  Fetch v4-8 'c4', 'c5', 'c6', 'c7', 'c8' (5 responses): differs" in shown
    assert shown.count("expected:") == 1


def test_verbose_shows_whole_responses_with_marked_lines() -> None:
    shown = text(run(result(scenario("x"), Outcome.DIFFERS, differing())), Style(verbose=True))
    assert (
        """\
    response (- expected, + actual):
        topics:
          [0]:
            name: "t"
            partitions:
              [0]:
                index: 0
      -         error_code: 3 UNKNOWN_TOPIC_OR_PARTITION
      +         error_code: 0 NONE
"""
        in shown
    )


def test_bytes_are_shown_on_demand() -> None:
    made = run(result(scenario("x"), Outcome.DIFFERS, differing(), case("b", Outcome.FAILED, reason="closed")))
    shown = text(made, Style(hexadecimal=True))
    assert "    request: 5 bytes\n      00000000  00 01 61 62 63" in shown
    assert "    response: 40 bytes" in shown
    assert "    response: the bytes were not kept" in shown
    assert "00000000" not in text(made)


def test_run_without_scenarios_has_no_table() -> None:
    assert "0 scenarios compared" in text(run())


def test_progress_is_one_line_that_fits() -> None:
    stream = io.StringIO()
    progress = Progress(stream, 40, total=7)
    for each in every_outcome().results:
        progress.show(each)
    progress.clear()
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines[1] == "1/7  1 as Kafka  good"
    assert max(map(len, lines)) < 40
    assert lines[-1] == ""


def test_list_has_claims_by_area() -> None:
    assert "\n".join(listed([scenario("x"), scenario("y", area="groups")], PLAIN)) == (
        "fetch:\n  x  (must, KIP-101, LogSegment)\n      The claim of x.\n"
        "groups:\n  y  (must, KIP-101, LogSegment)\n      The claim of y.\n"
        "2 scenarios"
    )


def test_changes_are_listed_by_kind() -> None:
    before = run(result(scenario("x"), Outcome.AS_KAFKA, case("a"), differing("b")), against="3.9")
    after = run(result(scenario("x"), Outcome.DIFFERS, differing("a"), case("b")))
    assert list(compared(compare(before, after), PLAIN)) == [
        "the earlier run was compared with Kafka 3.9, the later one with 4.4",
        "no longer as Kafka: 1",
        "  x: Fetch v4 'a': as Kafka -> differs",
        "      topics[0].partitions[0].error_code: expected 3 UNKNOWN_TOPIC_OR_PARTITION, got 0 NONE",
        "fixed: 1",
        "  x: Fetch v4 'b': differs -> as Kafka",
    ]
    assert list(compared(compare(after, after), PLAIN)) == ["no changes"]


def test_long_lists_of_changes_are_abbreviated() -> None:
    after = run(result(scenario("x"), Outcome.AS_KAFKA, *(case(str(number)) for number in range(50))))
    before = run(result(scenario("x"), Outcome.AS_KAFKA, case("other")))
    shown = list(compared(compare(before, after), PLAIN))
    assert "  ... and 30 more (--verbose shows them)" in shown
