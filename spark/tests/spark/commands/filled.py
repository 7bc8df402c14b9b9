"""A small log directory for tests of commands."""

from pathlib import Path

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered

T0 = 1_700_000_000_000
RECORDS = 30


def fill(directory: Path) -> Path:
    """Create a topic `a` with RECORDS records, one second apart, and an empty topic `b`."""
    with kafkalet.Broker(data_dir=directory, topics=["a", "b"]) as broker:
        rows = ((T0 + 1000 * number, b"k", b"%d" % number, ()) for number in range(RECORDS))
        broker.topic("a").append(build_batch(numbered(rows)))
    return directory
