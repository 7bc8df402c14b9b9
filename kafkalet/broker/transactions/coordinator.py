"""The transaction coordinator of one broker.

Source: kafka.coordinator.transaction.TransactionCoordinator, TransactionStateManager.
"""

from typing import Any

from kafkalet.broker.state_log import StateLog


class TransactionCoordinator:
    """The transactions that the broker `node` coordinates."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._logs: dict[int, StateLog] = {}

    def loaded(self) -> dict[int, int]:
        return {index: log.leader_epoch for index, log in self._logs.items()}

    def load(self, log: StateLog) -> None:
        self._logs[log.index] = log

    def unload(self, index: int) -> None:
        self._logs.pop(index)
