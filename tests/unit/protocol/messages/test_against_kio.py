"""All message versions that kio has are encoded to the same bytes and decoded to the same values as by kio."""

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.protocol.schema import Request, Response
from tests.profile import examples

from .values import message_versions

if TYPE_CHECKING:  # kio takes a while to import, and most test processes never need it
    from .kio_mapping import Pair

NOT_IN_KIO = {"StreamsGroupTopologyDescriptionUpdate", "UnregisterController"}
SHARED: dict[type[Request] | type[Response], list[int]] = {}
for _message, _version in message_versions():
    if _message.__name__.removesuffix("Request").removesuffix("Response") not in NOT_IN_KIO:
        SHARED.setdefault(_message, []).append(_version)


@cache
def strategy(of: "Pair") -> st.SearchStrategy[Any]:
    return of.strategy()


@pytest.mark.parametrize("message", SHARED)
def test_kio_reads_and_writes_the_same_bytes(message: type[Request] | type[Response]) -> None:
    from .kio_mapping import kio_has

    versions = [version for version in SHARED[message] if kio_has(message, version)]
    assert versions, "kio does not have this message: name it in NOT_IN_KIO"
    for version in versions:
        compare_with_kio(message, version)


def compare_with_kio(message: type[Request] | type[Response], version: int) -> None:
    from .kio_mapping import kio_decode, kio_encode, pair

    both = pair(message, version)

    @settings(max_examples=examples(0.04), suppress_health_check=list(HealthCheck), database=None)
    @given(strategy(both))
    def check(ours: Request | Response) -> None:
        theirs = both.to_kio(ours)
        data = ours.encode(version)
        assert kio_encode(theirs) == data
        assert kio_decode(both.theirs, data) == theirs
        assert message.decode(data, version) == ours
        assert both.from_kio(theirs) == ours

    check()
