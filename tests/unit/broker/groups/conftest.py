"""A broker on a stage, with a topic "t" of six partitions."""

from collections.abc import Iterator

import pytest

from tests.unit.model.stage import Stage

from .consuming import AT_ONCE, Consuming


@pytest.fixture
def consuming() -> Iterator[Consuming]:
    """Clients of the group "g", which computes a new target assignment after every change."""
    stage = Stage(1, **AT_ONCE)
    stage.cluster.topic("t").create(6)
    yield Consuming(stage)
    stage.close()
