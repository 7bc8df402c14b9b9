"""Conditions that a test imposes on a cluster for a while, such as replicas that do not follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from kafkalet.protocol.errors import KafkaError

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster


class Hold:
    """A condition that lasts until `release` is called, or until the `with` block of this object ends.

    It also ends with `Cluster.reset`, and with the topic or the broker that it affects.
    """

    def __init__(self, cluster: EmbeddedCluster, condition: str, end: Callable[[], object]) -> None:
        """`end` is called in the event loop. It raises KafkaError or ValueError if the condition has already ended."""
        self._cluster = cluster
        self._condition = condition
        self._end: Callable[[], object] | None = end

    def __repr__(self) -> str:
        return f"<{self._condition}{', released' if self._end is None else ''}>"

    def release(self) -> None:
        """End the condition. A second call has no effect."""
        end, self._end = self._end, None
        if end is not None and self._cluster.is_running:
            try:
                self._cluster._server.call(end)
            except (KafkaError, ValueError):
                return  # the topic was deleted, or the broker restarted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
