"""Progress of a comparison."""

from io import StringIO

from kafkalet_conformance.between.comparing import Comparison
from kafkalet_conformance.between.progress import progress_on


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_replaces_the_line_of_a_terminal_and_leaves_nothing() -> None:
    out = Terminal()
    with progress_on(out) as show:
        show(Comparison(1))
    assert out.getvalue() == "\r\x1b[K0 histories, 0 responses, 0 differences\r\x1b[K"


def test_nothing_is_written_to_a_file_within_half_a_minute() -> None:
    out = StringIO()
    with progress_on(out) as show:
        show(Comparison(1))
    assert out.getvalue() == ""
