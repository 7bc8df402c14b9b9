from collections.abc import Iterator

import pytest

from .requests import Store, store


@pytest.fixture
def share() -> Iterator[Store]:
    with store() as opened:
        yield opened
