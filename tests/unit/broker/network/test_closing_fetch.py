"""`kafkalet.broker.network.closing_fetch`: the Fetch that ends a session is recognized in all versions."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.network.closing_fetch import ends_session
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages.fetch import FetchRequest

VERSIONS = range(4, 18)


def framed(version: int, client_id: str | None, session_id: int, epoch: int, api: int = Api.FETCH) -> bytes:
    request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[])
    if version >= 7:
        request.session_id, request.session_epoch = session_id, epoch
    name = b"" if client_id is None else client_id.encode()
    head = pack(">hhih", api, version, 3, -1 if client_id is None else len(name)) + name
    body = head + (b"\0" if version in Api.FETCH.flexible else b"") + request.encode(version)
    return pack(">i", len(body)) + body


@given(
    version=st.sampled_from(VERSIONS),
    client_id=st.none() | st.text(max_size=20),
    session_id=st.sampled_from([0, 1, 1 << 30]),
    epoch=st.sampled_from([-1, 0, 1, 7]),
    more=st.binary(max_size=10),
)
def test_only_the_end_of_a_session_is_recognized(
    version: int, client_id: str | None, session_id: int, epoch: int, more: bytes
) -> None:
    requests = framed(version, client_id, session_id, epoch) + more
    assert ends_session(requests) == (version >= 7 and session_id != 0 and epoch == -1)


@pytest.mark.parametrize("version", [7, 12, 17])
def test_request_that_is_not_received_up_to_its_session_is_not_recognized(version: int) -> None:
    request = framed(version, "client", 5, -1)
    end = next(size for size in range(len(request) + 1) if ends_session(request[:size]))
    assert end > 14 + len("client")
    assert not any(ends_session(request[:size]) for size in range(end))


def test_other_api_is_not_recognized() -> None:
    assert not ends_session(framed(12, "client", 5, -1, api=Api.LIST_OFFSETS))


@given(st.binary(max_size=80))
def test_any_bytes_are_accepted(requests: bytes) -> None:
    assert ends_session(requests) in (True, False)
