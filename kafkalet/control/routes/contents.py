"""Routes of the contents of a cluster: reset, snapshot and restore."""

from __future__ import annotations

import os
import tempfile

from kafkalet.control.route import BYTES, Call, Routes
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
def take_snapshot(call: Call) -> bytes:
    """Return a copy of the contents as a tar archive: topics, records, groups, transactions and configs."""
    with tempfile.TemporaryDirectory(prefix="kafkalet-") as directory:
        path = os.path.join(directory, "snapshot.tar")
        call.cluster.snapshot().save(path)
        with open(path, "rb") as file:
            return file.read()


@routes.post("/v1/restore", consumes=BYTES)
def restore(call: Call) -> None:
    """Replace the contents with those of a snapshot. All connections of clients are closed."""
    with tempfile.TemporaryDirectory(prefix="kafkalet-") as directory:
        path = os.path.join(directory, "the body")
        with open(path, "wb") as file:
            file.write(call.body)
        try:
            snapshot = Snapshot.load(path)
        except ValueError as error:
            raise ValueError(str(error).replace(path, "the body")) from error
    call.cluster.restore(snapshot)
    forget_transactions(call.cluster)
