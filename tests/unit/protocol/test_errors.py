import pytest
from kio.schema.errors import ErrorCode

from kafkalet.protocol.errors import (
    Code,
    DecodeError,
    EncodeError,
    KafkaError,
    ProtocolError,
    UnsupportedVersion,
    code_of,
)


def test_error_codes_are_consecutive() -> None:
    assert [int(code) for code in Code] == list(range(-1, 137))


def test_error_codes_have_the_same_names_as_in_kio() -> None:
    theirs = {code.value: code.name.upper() for code in ErrorCode}
    assert {code: Code(code).name for code in theirs} == theirs


def test_error_code_is_encoded_as_number() -> None:
    assert Code.OFFSET_OUT_OF_RANGE.to_bytes(2, "big") == b"\0\1"


def test_kafka_error_has_code_and_message() -> None:
    error = KafkaError(Code.INVALID_TOPIC_EXCEPTION, "no spaces")
    assert (error.code, error.message) == (Code.INVALID_TOPIC_EXCEPTION, "no spaces")
    assert str(error) == "INVALID_TOPIC_EXCEPTION: no spaces"


def test_kafka_error_without_message_shows_its_code() -> None:
    error = KafkaError(Code.NOT_COORDINATOR)
    assert error.message is None
    assert str(error) == "NOT_COORDINATOR"


@pytest.mark.parametrize("kind", [DecodeError, EncodeError, UnsupportedVersion])
def test_protocol_errors_are_not_kafka_errors(kind: type[ProtocolError]) -> None:
    assert issubclass(kind, ProtocolError)
    assert not issubclass(kind, KafkaError)


def test_codes_of_newer_brokers_become_unknown_server_error() -> None:
    assert code_of(1) is Code.OFFSET_OUT_OF_RANGE
    assert code_of(999) is Code.UNKNOWN_SERVER_ERROR
