"""Layouts: ways in which a cluster may store and serve records, without any effect on what clients see."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.broker.context import Context
from kafkalet.broker.network.hooks import Answer, Handler
from kafkalet.clock import ManualClock
from kafkalet.protocol.schema import Request
from kafkalet_conformance.building import T0

NOW_MS = T0 + 1000
"""The time of all clusters: markers have it as their timestamp."""
DISTURBANCES = ("restart", "kill", "restore", "roll", "reopen")


@dataclass(frozen=True)
class Layout:
    """How a cluster stores and serves a history. The default is the layout that others are compared with."""

    brokers: int = 1
    segment_bytes: int = 1 << 30
    """At least the size of the largest batch of a history: brokers refuse batches that do not fit into a segment."""
    index_interval_bytes: int = 4096
    codec: str = "producer"
    """The compression.type of the topic: brokers compress records again if it differs from that of a batch."""
    on_disk: bool = False
    """Whether the cluster has a data directory; otherwise its directory is temporary."""
    has_fast_paths: bool = True
    disturbances: dict[int, str] = field(default_factory=dict)
    """What happens to the cluster before a step of the history, by the number of the step."""

    @property
    def topic_configs(self) -> dict[str, str | int]:
        return {
            "internal.segment.bytes": self.segment_bytes,
            "index.interval.bytes": self.index_interval_bytes,
            "compression.type": self.codec,
            "retention.ms": -1,
        }


def layouts() -> st.SearchStrategy[Layout]:
    """Layouts that differ from the default in any way, and shrink towards the default."""
    disturbances = st.dictionaries(st.integers(0, 25), st.sampled_from(DISTURBANCES), max_size=4)
    return st.builds(
        Layout,
        brokers=st.sampled_from([1, 1, 1, 3]),
        segment_bytes=st.sampled_from([1 << 30, 1000, 1500]),
        index_interval_bytes=st.sampled_from([4096, 100, 1, 0]),
        codec=st.sampled_from(["producer", "producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"]),
        on_disk=st.booleans(),
        has_fast_paths=st.booleans(),
        disturbances=disturbances,
    )


def call_handler(request: Request, context: Context, handler: Handler) -> Answer:
    """A hook that changes nothing, but needs the messages, so that the broker uses no fast paths."""
    answer: Answer = handler(request, context)
    return answer


class Deployment:
    """A cluster with a layout. `disturb` may replace `cluster`, and ends all connections."""

    def __init__(self, layout: Layout, directory: Path) -> None:
        self.layout = layout
        self.directory = directory if layout.on_disk or "reopen" in layout.disturbances.values() else None
        self.disturbed = 0
        self.cluster = self._start()

    def _start(self) -> Cluster:
        config = {"transaction.state.log.num.partitions": 1, "offsets.topic.num.partitions": 1}
        cluster = Cluster(self.layout.brokers, data_dir=self.directory, config=config, clock=ManualClock(NOW_MS))
        cluster.__enter__()
        if not self.layout.has_fast_paths:
            for node_id in range(1, self.layout.brokers + 1):
                self._intercept(cluster, node_id)
        return cluster

    def _intercept(self, cluster: Cluster, node_id: int) -> None:
        def install() -> None:
            cluster._server.brokers[node_id].router.hooks.intercept = call_handler

        cluster._server.call(install)

    def disturb(self, step: int) -> None:
        """Apply the disturbance that the layout prescribes before this step."""
        kind = self.layout.disturbances.get(step)
        if kind is None:
            return
        self.disturbed += 1
        if kind == "reopen":
            self.cluster.__exit__(None, None, None)
            self.cluster = self._start()
        elif kind == "restore":
            self.cluster.restore(self.cluster.snapshot())
        elif kind == "roll":
            self.cluster.run_cleaner(roll=True)
        else:
            for node_id in range(1, self.layout.brokers + 1):
                broker = self.cluster.broker(node_id)
                broker.stop() if kind == "restart" else broker.kill()
                broker.start()
                if not self.layout.has_fast_paths:
                    self._intercept(self.cluster, node_id)


@contextmanager
def deployed(layout: Layout) -> Iterator[Deployment]:
    """Start a cluster with a layout, and stop it at the end."""
    with TemporaryDirectory(prefix="kafkalet-layout-") as directory:
        deployment = Deployment(layout, Path(directory))
        try:
            yield deployment
        finally:
            deployment.cluster.__exit__(None, None, None)
