"""Tests of the error messages of a refused append."""

from .producing import produced
from .validating import COMPACTED, refused


def test_message_is_only_set_for_record_errors() -> None:
    assert refused(produced(0, control=True)).message is None
    assert refused(produced(0), COMPACTED).message is not None
