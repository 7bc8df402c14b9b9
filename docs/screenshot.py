"""Take the screenshot of the web page in README.md.

    python docs/screenshot.py [FILE]        docs/images/page.png by default

It runs three brokers with plausible data, and Chromium with Playwright (pip install -e '.[test-all]').
"""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import kafkalet  # noqa: E402
from kafkalet.control.server import ControlServer  # noqa: E402
from tests.wire.control.browser import launched  # noqa: E402

FILE = ROOT / "docs" / "images" / "page.png"
SIZE = {"width": 1280, "height": 624}
PLACE = "#/topics/payments/0"


def fill(cluster: kafkalet.Cluster) -> Producer:
    """Create topics with records, a group that lags behind, and a fault. Return the producer of an open transaction."""
    cluster.topic("orders").create(3, replication_factor=3)
    cluster.topic("payments").create(2, config={"segment.bytes": "1400"}, replication_factor=3)
    cluster.topic("invoices").create(1, config={"cleanup.policy": "compact"}, replication_factor=3)
    cluster.topic("orders.dlq").create(1, replication_factor=1)
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    shop = Producer(servers | {"client.id": "shop", "linger.ms": 20, "compression.type": "gzip"})
    for number in range(240):
        order = {"id": 7000 + number, "customer": f"c-{number * 7 % 31}", "total": 990 + 17 * number}
        shop.produce("orders", json.dumps(order), str(order["id"]), headers={"trace": f"{number:04x}"})
        if number % 3 == 0:
            shop.produce("invoices", json.dumps({"order": order["id"]}), str(order["id"]))
    for batch in range(14):
        for number in range(6):
            payment = {"order": 7000 + 6 * batch + number, "method": "card", "state": "authorised", "retries": 0}
            shop.produce("payments", json.dumps(payment), str(payment["order"]), partition=0)
        shop.produce("payments", json.dumps({"order": batch}), partition=1)
        shop.flush()
    shop.produce("orders.dlq", b"not json", headers={"error": "JSONDecodeError"})
    shop.flush()
    cluster.topic("payments").delete_records(20)
    settlement = Producer(servers | {"client.id": "settlement", "transactional.id": "settlement-2025-11"})
    settlement.init_transactions()
    settlement.begin_transaction()
    for number in range(22):
        settlement.produce("payments", json.dumps({"order": 7000 + number, "state": "settled"}), partition=0)
    settlement.flush()
    for node_id in (2, 3):
        cluster.hold_replication(node_id, "payments", 0)
    late = Producer(servers | {"client.id": "shop", "acks": 1})
    for number in range(9):
        late.produce("payments", json.dumps({"order": 7100 + number, "state": "authorised"}), partition=0)
    late.flush()
    cluster.fault("OffsetCommit", error="COORDINATOR_LOAD_IN_PROGRESS", client_id="mailer", strict=False)
    return settlement


@contextmanager
def consuming(cluster: kafkalet.Cluster) -> Iterator[None]:
    """Run a consumer that has committed a part of the orders."""
    billing = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": "billing-1",
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    billing.subscribe(["orders"])
    left = 150
    while left:
        left -= billing.poll(0.5) is not None
    billing.commit(asynchronous=False)
    yield
    billing.close()


def main(path: Path) -> None:
    """Take the screenshot."""
    with ExitStack() as stack:
        cluster = stack.enter_context(kafkalet.Cluster(3, version="3.9"))
        control = stack.enter_context(ControlServer(cluster))
        settlement = fill(cluster)
        stack.enter_context(consuming(cluster))
        stack.callback(settlement.abort_transaction)
        page = stack.enter_context(launched()).new_page(viewport=SIZE, color_scheme="light")
        page.goto(f"{control.url}/{PLACE}")
        page.get_by_role("button", name="Segment 72").click()
        page.get_by_role("heading", name="Batches of segment 72").wait_for()
        page.locator(".batches").get_by_text("transactional").wait_for()
        page.get_by_role("tab", name="Groups 1").wait_for()
        page.screenshot(path=path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
