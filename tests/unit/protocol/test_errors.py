import pytest
from kio.schema.errors import ErrorCode

from kafkalet.protocol.errors import Code, DecodeError, EncodeError, KafkaError, ProtocolError, UnsupportedVersion


def test_codes_are_numbered_without_a_gap() -> None:
    assert [int(code) for code in Code] == list(range(-1, 137))


def test_codes_have_the_names_that_kio_knows() -> None:
    theirs = {code.value: code.name.upper() for code in ErrorCode}
    assert {code: Code(code).name for code in theirs} == theirs


def test_a_code_is_a_number_on_the_wire() -> None:
    assert Code.OFFSET_OUT_OF_RANGE.to_bytes(2, "big") == b"\0\1"


def test_a_refusal_knows_its_code_and_its_words() -> None:
    error = KafkaError(Code.INVALID_TOPIC_EXCEPTION, "no spaces")
    assert (error.code, error.message) == (Code.INVALID_TOPIC_EXCEPTION, "no spaces")
    assert str(error) == "INVALID_TOPIC_EXCEPTION: no spaces"


def test_a_refusal_without_words_has_none() -> None:
    error = KafkaError(Code.NOT_COORDINATOR)
    assert error.message is None
    assert str(error) == "NOT_COORDINATOR"


@pytest.mark.parametrize("kind", [DecodeError, EncodeError, UnsupportedVersion])
def test_a_broken_peer_is_no_refusal(kind: type[ProtocolError]) -> None:
    assert issubclass(kind, ProtocolError)
    assert not issubclass(kind, KafkaError)
