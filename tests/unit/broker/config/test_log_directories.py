"""`kafkalet.broker.config.log_directories`: the log directories in the properties."""

import pytest

from kafkalet.broker.config.log_directories import configured_directories
from kafkalet.properties import InvalidProperty


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, []),
        ({"log.dir": "/a"}, ["/a"]),
        ({"log.dirs": "/a, /b ,"}, ["/a", "/b"]),
        ({"log.dirs": "/a", "log.dir": "/b"}, ["/a"]),
    ],
)
def test_log_dirs_takes_precedence_over_log_dir(properties: dict[str, str], expected: list[str]) -> None:
    assert configured_directories(properties) == expected


def test_empty_property_is_refused() -> None:
    with pytest.raises(InvalidProperty, match="at least one directory is required"):
        configured_directories({"log.dirs": " ,"})
