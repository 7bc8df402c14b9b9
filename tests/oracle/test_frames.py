"""Kafka's Java classes encode the recorded messages to the recorded bytes."""

import pytest

from kafkalet.protocol.releases import versions_of
from tests.unit.protocol.messages.recorded import Recorded, recorded

from .apache_kafka import missing
from .frames import encoded

pytestmark = pytest.mark.oracle


def is_supported_by_kafka_4(vector: Recorded) -> bool:
    """Return whether 4.4 encodes this version; versions that Kafka 4.0 removed need the classes of 3.9."""
    api = next(api for api in versions_of("newest") if vector.name in (f"{api}Request", f"{api}Response"))
    return api in versions_of("4.4") and vector.version in versions_of("4.4")[api]


@pytest.mark.parametrize(("release", "since_4"), [("3.9", False), ("4.4", True)])
def test_kafka_encodes_recorded_values_to_recorded_bytes(release: str, since_4: bool) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    vectors = [each for each in recorded("messages.json") if each.values and is_supported_by_kafka_4(each) is since_4]
    vectors = [each for each in vectors if "'records'" not in str(each.values)]  # the converters omit records
    assert vectors
    again = encoded([(each.name, each.version, each.values) for each in vectors], release)
    assert [(each.name, each.version) for each, data in zip(vectors, again, strict=True) if data != each.data] == []
