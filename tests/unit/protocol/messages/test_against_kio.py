"""Each message version that kio has is encoded to the same bytes, and decoded to the same values, as by kio."""

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
@settings(max_examples=examples(0.04), suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_kio_reads_and_writes_the_same_bytes(message: type[Request] | type[Response], data: st.DataObject) -> None:
    from .kio_mapping import kio_decode, kio_encode, kio_has, pair

    versions = [version for version in SHARED[message] if kio_has(message, version)]
    assert versions, "kio does not have this message: name it in NOT_IN_KIO"
    for version in versions:
        both = pair(message, version)
        ours = data.draw(strategy(both))
        theirs = both.to_kio(ours)
        encoded = ours.encode(version)
        assert kio_encode(theirs) == encoded
        assert kio_decode(both.theirs, encoded) == theirs
        assert message.decode(encoded, version) == ours
        assert both.from_kio(theirs) == ours
