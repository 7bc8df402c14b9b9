"""Opens the logs that were not needed before the broker was ready, in the background.

After a clean shutdown, a broker with many partitions opens a log when it is first used. The logs that are not used are
opened here, so that retention applies to them and damage is found.
"""

from kafkalet.storage.environment import StartInterrupted
from kafkalet.tasks.periodic import Background
from kafkalet.tasks.task import pause

from .node import Node


class Opening(Background):
    """Opens the remaining logs of these nodes, from `start` until `stop`."""

    def start(self, nodes: dict[int, Node]) -> None:
        """Start if there are logs to open. Has no effect if it is running already."""
        if not self.is_running and not all(node.are_logs_open for node in nodes.values()):
            self.begin(_open_logs(nodes))


async def _open_logs(nodes: dict[int, Node]) -> None:
    await pause()
    try:
        while any(node.open_next_log() for node in list(nodes.values())):
            await pause()
    except StartInterrupted:  # the broker is stopping
        return
