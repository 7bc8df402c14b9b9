"""A transactional producer that sends its requests one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, batch, on_the_wire

PARTITION = ("t", 0)


class Tx:
    """A producer with a transactional id. Each method sends a request and returns the error code of the response."""

    def __init__(self, wire: Wire, transactional_id: str = "x") -> None:
        self.wire = wire
        self.transactional_id = transactional_id
        self.node = self.find()
        self.producer_id = -1
        self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    @property
    def who(self) -> Plain:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def find(self) -> int:
        """Return the id of the coordinating broker."""
        answer = self.wire.ask("FindCoordinator", 3, {"key": self.transactional_id, "key_type": 1}, self._any_broker())
        assert answer["error_code"] == Code.NONE
        node: int = answer["node_id"]
        return node

    def _any_broker(self) -> int:
        return next(iter(self.wire.cluster._server.metadata.endpoints))

    def init(self, *, version: int = 4, timeout_ms: int = 60_000, **more: Any) -> Code:
        body = {"transactional_id": self.transactional_id, "transaction_timeout_ms": timeout_ms, **more}
        answer = self.wire.ask("InitProducerId", version, body, self.node)
        if answer["error_code"] == Code.NONE:
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
            self.sequences.clear()
        return Code(answer["error_code"])

    def begin(self, **more: Any) -> None:
        """Initialize the producer, retrying while the transaction of another one is being aborted."""
        while (code := self.init(**more)) == Code.CONCURRENT_TRANSACTIONS:
            pass
        assert code == Code.NONE

    def add(self, *partitions: tuple[str, int], version: int = 3) -> Code:
        """Add partitions and return the error code of the first one."""
        topics = [{"name": topic, "partitions": [index]} for topic, index in partitions or [PARTITION]]
        answer = self.wire.ask("AddPartitionsToTxn", version, {**self.who, "topics": topics}, self.node)
        return Code(answer["topics"][0]["partitions"][0]["error_code"])

    def add_offsets(self, group_id: str, *, version: int = 3) -> Code:
        answer = self.wire.ask("AddOffsetsToTxn", version, {**self.who, "group_id": group_id}, self.node)
        return Code(answer["error_code"])

    def send(self, *values: bytes, version: int = 9, topic: str = "t", index: int = 0, **more: Any) -> Plain:
        """Produce and return the response for the partition."""
        known = self.wire.cluster._server.metadata.partition(topic, index)
        assert known is not None
        sequence = self.sequences.get((topic, index), 0)
        records = batch(
            *values,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        more = {"transactional_id": self.transactional_id, **more}
        if version >= 13:
            more["topic_id"] = self.wire.cluster._server.metadata.topics[topic].topic_id.hex()
        answer = self.wire.produce(bytes(records), version=version, node=known.leader, topic=topic, index=index, **more)
        if answer["error_code"] == Code.NONE:
            self.sequences[topic, index] = sequence + len(values)
        return answer

    def end(self, committed: bool = True, *, version: int = 3) -> Code:
        answer = self.wire.ask("EndTxn", version, {**self.who, "committed": committed}, self.node)
        if version >= 5 and answer["error_code"] == Code.NONE:
            if (answer["producer_id"], answer["producer_epoch"]) != (self.producer_id, self.epoch):
                self.sequences.clear()
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return Code(answer["error_code"])

    def commit(self, *values: bytes) -> None:
        """Run a whole transaction with the requests of transaction version 1."""
        assert self.add() == Code.NONE
        assert self.send(*values)["error_code"] == Code.NONE
        assert self.end() == Code.NONE

    def advance(self, ms: int) -> None:
        """Advance the manual clock of the cluster. Connections are closed first, because they would exceed the idle
        timeout."""
        clock = self.wire.cluster._server.clock
        assert isinstance(clock, ManualClock)
        self.wire.close()
        self.wire.connections.clear()
        self.wire.cluster._server.call(lambda: clock.advance(milliseconds=ms))

    def describe(self) -> Plain:
        body = {"transactional_ids": [self.transactional_id]}
        [found] = self.wire.ask("DescribeTransactions", 0, body, self.node)["transaction_states"]
        return found  # type: ignore[no-any-return]


@contextmanager
def producing(brokers: int = 1, **options: Any) -> Iterator[Tx]:
    """A cluster with a topic "t", and an initialized producer."""
    with on_the_wire(brokers, **options) as wire:
        tx = Tx(wire)
        assert tx.init() == Code.NONE
        yield tx
