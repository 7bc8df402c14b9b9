"""The lines of a command are parsed as the contract prescribes."""

from kafkalet_conformance.clients.output import Acked, Failed, Output, Returned


def test_lines_of_producer_become_records() -> None:
    output = Output(["acked 0 1 17", "failed 1 it timed out", "failed 2", "connecting"])
    assert output.acked == [Acked("0", 1, 17)]
    assert output.failed == [Failed("1", "it timed out"), Failed("2", "")]


def test_values_of_consumer_are_unescaped() -> None:
    lines = [r"record 0 5 a\x0ab c", r"record 0 6 \N", "record 0 7 ", "record 0 8", r"record 0 9 \x5cN"]
    values = [b"a\nb c", None, b"", b"", rb"\N"]
    assert Output(lines).records == [Returned(0, offset, value) for offset, value in enumerate(values, 5)]


def test_lines_of_transactions_are_counted() -> None:
    output = Output(["committed", "committed 3", "aborted it was fenced", "error no leader"])
    assert output.committed == [None, 3]
    assert output.aborted == ["it was fenced"]
    assert output.errors == ["no leader"]


def test_line_that_cannot_be_read_is_malformed() -> None:
    lines = ["acked 1", "acked x y z", "record one", "record 0 zero x", "failed", "committed many"]
    assert Output(lines).malformed == lines
