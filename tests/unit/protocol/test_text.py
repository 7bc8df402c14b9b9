import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.text import MAX_STRING_BYTES, REPLACE


@given(st.binary(max_size=50))
def test_invalid_utf_8_is_replaced_as_by_python(data: bytes) -> None:
    assert data.decode("utf-8", REPLACE) == data.decode("utf-8", "replace")


@pytest.mark.parametrize("data", [b"\xff" * 10_922, b"x" * 32_764 + b"\xff", b"\xff" + b"x" * 32_764])
def test_string_within_the_limit_after_replacement_is_decoded(data: bytes) -> None:
    assert len(data.decode("utf-8", REPLACE).encode()) <= MAX_STRING_BYTES


@pytest.mark.parametrize("data", [b"\xff" * 10_923, b"x" * 32_765 + b"\xff", b"\xff" + b"x" * 32_765])
def test_string_over_the_limit_after_replacement_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="bytes after replacing invalid UTF-8"):
        data.decode("utf-8", REPLACE)
