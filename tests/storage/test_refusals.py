"""How refusals differ: in the log start offset of the answer, and in its text."""

from kafkalet.storage.refusals import ValidationFailed
from tests.storage.producing import produced, record
from tests.storage.validating import COMPACTED, refused


def test_refusals_before_validation_are_told_from_those_after_it() -> None:
    for data in (produced(0, set={"crc": 1}), produced(record(value="x" * 2_000_000))):
        assert not isinstance(refused(data), ValidationFailed)
    assert isinstance(refused(produced(0, set={"base_offset": 5})), ValidationFailed)


def test_the_answer_has_a_text_only_where_records_are_named() -> None:
    assert refused(produced(0, control=True)).message is None
    assert refused(produced(0), COMPACTED).message is not None
