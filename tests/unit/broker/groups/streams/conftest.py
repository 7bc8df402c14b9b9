"""A broker on a stage, with a topic "t" of two partitions."""

from collections.abc import Iterator

import pytest

from tests.unit.broker.groups.streaming import CONFIG, Streaming
from tests.unit.model.stage import Stage


@pytest.fixture
def streaming() -> Iterator[Streaming]:
    """Members of the streams group "g", which computes a new target assignment after every change."""
    stage = Stage(1, **CONFIG)
    stage.cluster.topic("t").create(2)
    yield Streaming(stage)
    stage.close()
