"""A producer that begins while the transaction of its predecessor is open, and the errors of the predecessor."""

from kafkalet_conformance.building import COORDINATOR_ERRORS, ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

from .transaction_apis import Coordinated

scenario = Scenarios("transactions")


@scenario("KIP-98 KIP-360 KIP-588 KIP-890 TransactionCoordinator", level="must")
def transactions_ongoing_init(ask: ScenarioBuilder) -> None:
    """InitProducerId aborts an open transaction and returns CONCURRENT_TRANSACTIONS; then the predecessor is fenced."""
    t = ask.topic("t")
    for v in ask.versions("InitProducerId"):
        for kind in ("a new producer", "the same producer") if v >= 3 else ("a new producer",):
            txn = Coordinated(ask, 10 * (v + 1) + (kind == "the same producer"))
            txn.begun()
            txn.added(0, (t, (0,)))
            own = {"producer_id": txn.producer_id, "producer_epoch": 0} if kind == "the same producer" else {}
            body: Step = {"transactional_id": txn.id, "transaction_timeout_ms": 60000} | own
            ask.request(f"v{v} {kind}, first", "InitProducerId", v, body, retry_errors=COORDINATOR_ERRORS)
            txn.wait_until("CompleteAbort")
            after = {"retry_errors": [51], "bind": {"P1": "producer_id"}}
            ask.request(f"v{v} {kind}, after the abort", "InitProducerId", v, body, **after)
            predecessor(ask, txn, t, f"v{v} {kind}")


def predecessor(ask: ScenarioBuilder, txn: Coordinated, t: str, case: str) -> None:
    """Send requests with the epoch of the aborted transaction, in each version whose response has a different error."""
    for v in (1, 2, 3, 4):
        txn.end(f"{case}: EndTxn v{v}", 0, version=v)
    for v in ask.versions("EndTxn", 5):
        txn.end(f"{case}: EndTxn v{v}", 0, version=v)
    for v in (1, 2, 3):
        txn.add(f"{case}: AddPartitionsToTxn v{v}", 0, (t, (0,)), version=v)
    for v in (1, 2, *ask.versions("AddOffsetsToTxn", 3)):
        body = txn.of(0, group_id=f"{ask.name}")
        ask.request(f"{case}: AddOffsetsToTxn v{v}", "AddOffsetsToTxn", v, body)
    for v in ask.versions("Produce", 9, 12):
        fields = {"producer_id": txn.producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        ask.produce(t, batch(10, **fields), case=f"{case}: Produce v{v}", version=v, transactional_id=txn.id)
