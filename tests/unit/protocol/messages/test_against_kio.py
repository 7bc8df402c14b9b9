"""Every version that kio has: the same bytes for the same values, both ways."""

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.protocol.schema import Request, Response

from .kio_mapping import Pair, kio_decode, kio_encode, kio_has, pair
from .values import message_versions

SHARED = [(message, version) for message, version in message_versions() if kio_has(message, version)]


@cache
def strategy(of: Pair) -> st.SearchStrategy[Any]:
    return of.strategy()


@pytest.mark.parametrize(("message", "version"), SHARED, ids=[f"{m.__name__}-v{v}" for m, v in SHARED])
def test_kio_reads_and_writes_the_same_bytes(message: type[Request] | type[Response], version: int) -> None:
    both = pair(message, version)

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(strategy(both))
    def check(ours: Request | Response) -> None:
        theirs = both.to_kio(ours)
        data = ours.encode(version)
        assert kio_encode(theirs) == data
        assert kio_decode(both.theirs, data) == theirs
        assert message.decode(data, version) == ours
        assert both.from_kio(theirs) == ours

    check()
