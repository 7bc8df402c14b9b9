"""`kafkalet.broker.apis.produce_rules`: checks of the records in a Produce request."""

import pytest

from kafkalet.broker.apis.produce_rules import check_first_header, check_produced, is_transactional
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.storage.producing import message_set, produced


@pytest.mark.parametrize(
    ("data", "version", "code"),
    [
        (produced(0), 3, None),
        (produced(0), 2, None),
        (b"", 2, None),
        (b"", 3, Code.INVALID_RECORD),
        (b"12345", 9, Code.INVALID_RECORD),
        (produced(0)[:-5], 9, Code.INVALID_RECORD),
        (message_set(1, 0), 9, Code.INVALID_RECORD),
        (message_set(0, 0), 9, Code.INVALID_RECORD),
        (message_set(1, 0), 2, None),
        (produced(0) * 2, 9, Code.INVALID_RECORD),
        (produced(0) + message_set(1, 0), 9, Code.INVALID_RECORD),
        (produced(0) + produced(0)[:-5], 9, None),
        (produced(0) + produced(0, set={"length": 5}), 9, Code.CORRUPT_MESSAGE),
        (produced(0) + b"\xff" * 20, 9, Code.CORRUPT_MESSAGE),
        (produced(0, set={"magic": 3}), 9, Code.CORRUPT_MESSAGE),
        (produced(0, codec="zstd"), 6, Code.UNSUPPORTED_COMPRESSION_TYPE),
        (produced(0, codec="zstd"), 7, None),
        (produced(0, set={"attributes": 5}), 6, Code.UNKNOWN_SERVER_ERROR),
        (produced(0, set={"attributes": 5}), 7, None),
        (produced(0, set={"crc": 1}), 9, None),
        (produced(0, set={"length": 38})[:50], 9, None),
        (produced(0, set={"length": 38, "attributes": 4})[:50], 6, Code.UNSUPPORTED_COMPRESSION_TYPE),
        (produced(0, set={"length": 48, "attributes": 7})[:60], 6, Code.UNKNOWN_SERVER_ERROR),
        (message_set(0, 0, set={"length": 14, "magic": 1})[:26], 9, Code.INVALID_RECORD),
        (produced(0, set={"length": 38})[:50] + produced(0), 9, Code.INVALID_RECORD),
        (produced(0, set={"length": 38})[:50] + bytes(12), 9, Code.CORRUPT_MESSAGE),
    ],
)
def test_records_are_checked_by_version(data: bytes, version: int, code: Code | None) -> None:
    if code is None:
        check_produced(data, version)
    else:
        with pytest.raises(KafkaError) as caught:
            check_produced(data, version)
        assert (caught.value.code, caught.value.message) == (code, None)


@pytest.mark.parametrize(
    ("length", "code"), [(38, Code.UNKNOWN_SERVER_ERROR), (39, Code.CORRUPT_MESSAGE), (48, Code.CORRUPT_MESSAGE)]
)
def test_batch_shorter_than_its_header_is_refused(length: int, code: Code) -> None:
    with pytest.raises(KafkaError) as caught:
        check_first_header(produced(0, set={"length": length})[: length + 12])
    assert (caught.value.code, caught.value.message) == (code, None)


def test_complete_batch_has_a_valid_header() -> None:
    check_first_header(produced(0))
    check_first_header(message_set(1, 0))
    check_first_header(b"")


@pytest.mark.parametrize("field", [{"magic": 3}, {"magic": -1}, {"length": 13}, {"length": -5}], ids=str)
def test_invalid_first_batch_fails_the_whole_request(field: dict[str, int]) -> None:
    with pytest.raises(KafkaError) as caught:
        is_transactional(produced(0, set=field))
    assert caught.value.code == Code.CORRUPT_MESSAGE
    assert caught.value.message is not None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", False),
        (produced(0)[:-1], False),
        (produced(0), False),
        (produced(0, transactional=True), True),
        (produced(0) + produced(0, transactional=True), False),
        (produced(0) + b"\xff" * 20, False),
        (message_set(1, 0), False),
        (produced(0, set={"length": 14}), False),
        (produced(0, set={"length": 48}, transactional=True), True),
    ],
)
def test_first_batch_determines_whether_a_request_is_transactional(data: bytes, expected: bool) -> None:
    assert is_transactional(data) is expected
