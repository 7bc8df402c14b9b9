"""A stand-in for the transaction coordinator, which the broker does not have.

Most of what the transcripts about transactions ask is about Fetch and ListOffsets over a log with transactions in it,
and that is the log's business. A log gets there by what a coordinator does: it hands out producer ids, vouches for the
partitions that were added to a transaction, and ends it by a marker in each of them. The stand-in does these three, in
the process of the broker, and answers the requests that ask for them; everything else goes to the broker.

It is no coordinator: it believes its clients, forgets nothing, and writes the markers before it answers.
"""

from typing import Any

from kafkalet import Broker
from kafkalet.broker.transactions import TransactionalProducer, Transactions
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin

from .scenario import Server
from .wire import Connection

Answer = dict[str, Any]


class StandIn(Transactions):
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.producers: dict[str, TransactionalProducer] = {}
        self.last_marker_ms = 0

    def find(self, transactional_id: str) -> TransactionalProducer | None:
        return self.producers.get(transactional_id)

    def answer(self, api: str, body: dict[str, Any]) -> Answer | None:
        """The answer to a request that is for a coordinator; None for others."""
        match api:
            case "FindCoordinator":
                return {"error_code": 0}
            case "InitProducerId" if body["transactional_id"]:
                return self.broker.call(lambda: self.begin(body["transactional_id"]))
            case "AddPartitionsToTxn":
                return self.broker.call(lambda: self.add(body["transactional_id"], body["topics"]))
            case "EndTxn":
                return self.broker.call(lambda: self.end(body["transactional_id"], body["committed"]))
        return None

    def begin(self, transactional_id: str) -> Answer:
        """A producer id, or for a known one the next epoch; what is open is aborted in an epoch of its own."""
        producer = self.producers.get(transactional_id)
        if producer is None:
            producer = self.producers[transactional_id] = TransactionalProducer(self.broker.producer_ids.take())
        else:
            producer.producer_epoch += 1
            if producer.partitions:
                self.end(transactional_id, committed=False)
                producer.producer_epoch += 1
        return {"error_code": 0, "producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}

    def add(self, transactional_id: str, topics: list[dict[str, Any]]) -> Answer:
        named = [(topic["name"], index) for topic in topics for index in topic["partitions"]]
        self.producers[transactional_id].partitions.update(named)
        return {
            "topics": [{"name": name, "partitions": [{"partition_index": n, "error_code": 0}]} for name, n in named]
        }

    def end(self, transactional_id: str, committed: bool) -> Answer:
        producer = self.producers[transactional_id]
        for topic, index in sorted(producer.partitions):
            # A coordinator is not so quick that two transactions end in the same millisecond.
            self.last_marker_ms = max(self.broker.clock.now_ms(), self.last_marker_ms + 1)
            marker = build_end_marker(
                EndMarker(ControlType.COMMIT if committed else ControlType.ABORT, coordinator_epoch=0),
                timestamp=self.last_marker_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
            )
            self.broker.leadership.leader_of(topic, index).append(bytearray(marker), Origin.COORDINATOR)
        producer.partitions.clear()
        return {"error_code": 0}


class ServerWithStandIn(Server):
    """A broker in this process whose connections lead the requests for a coordinator to a stand-in."""

    def __init__(self, broker: Broker) -> None:
        self.stand_in = broker.transactions = StandIn(broker)
        super().__init__(broker.bootstrap_servers)

    def connect(self, name: str = "main") -> Connection:
        return ConnectionWithStandIn(self)


class ConnectionWithStandIn(Connection):
    def __init__(self, server: ServerWithStandIn) -> None:
        self.stand_in = server.stand_in
        super().__init__(server.host, server.port)

    def ask(self, api: str, version: int, body: dict[str, Any]) -> Answer:
        answer = self.stand_in.answer(api, body)
        return super().ask(api, version, body) if answer is None else answer
