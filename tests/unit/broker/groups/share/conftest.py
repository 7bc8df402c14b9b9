"""A broker on a stage, with a topic "t" of three partitions."""

from collections.abc import Iterator

import pytest

from tests.unit.broker.groups.sharing import FEW_PARTITIONS, Sharing
from tests.unit.model.stage import Stage


@pytest.fixture
def sharing() -> Iterator[Sharing]:
    """Members of the share group "g", which computes a new target assignment after every change."""
    stage = Stage(1, **FEW_PARTITIONS)
    stage.cluster.topic("t").create(3)
    yield Sharing(stage)
    stage.close()
