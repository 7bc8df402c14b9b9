"""Tests of the error messages of a refused append."""

from .producing import produced
from .validating import COMPACTED, refused


def test_the_answer_has_a_text_only_where_records_are_named() -> None:
    assert refused(produced(0, control=True)).message is None
    assert refused(produced(0), COMPACTED).message is not None
