"""Routes of the contents of a cluster: reset, snapshot and restore."""

import tempfile
from typing import IO

from kafkalet.control.route import BYTES, MAX_FILE_BYTES, Call, Routes
from kafkalet.testing.snapshot import Snapshot

from .transactions import forget_transactions

routes = Routes("contents", "The contents of the cluster: reset, snapshot and restore.")


@routes.post("/v1/reset")
def reset(call: Call) -> None:
    """Remove all topics, groups, transactions, faults and changed configs. All connections of clients are closed.

    The topics of the command line are created again, empty. The brokers keep their ports; stopped ones start again.
    """
    call.cluster.reset()
    forget_transactions(call.cluster)


@routes.get("/v1/snapshot", response=None, produces=BYTES)
def take_snapshot(call: Call) -> IO[bytes]:
    """Return a copy of the contents as a tar archive: topics, records, groups, transactions and configs."""
    snapshot = call.cluster.snapshot()
    file = tempfile.TemporaryFile(prefix="kafkalet-")  # noqa: SIM115 - the server closes it
    snapshot.write(file)
    return file


@routes.post("/v1/restore", consumes=BYTES, max_body_bytes=MAX_FILE_BYTES)
def restore(call: Call, body: IO[bytes]) -> None:
    """Replace the contents with those of a snapshot. All connections of clients are closed.

    A file that is not a complete snapshot of the same brokers is refused, and nothing changes. Only one file is
    accepted at a time.
    """
    call.cluster.restore(Snapshot.read(body, "the body"))
    forget_transactions(call.cluster)
