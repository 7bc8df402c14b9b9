"""The application under test: a shop that takes orders, bills them, and sends invoices.

    orders ──> billing ──> invoices
                  └──────> orders.dlq    orders that are not JSON

It uses one of the client libraries, and knows kafkalet only as an address. Each part of it has its own client, because
a driver is used by one thread.
"""

import json
import threading
from collections.abc import Sequence
from typing import Any

from tests.clients.drivers import Driver, Member, Message, Row, Transactions


class Shop:
    """The shop, with a client library and the address of a broker."""

    def __init__(self, driver_type: type[Driver], servers: str) -> None:
        self._driver_type = driver_type
        self.servers = servers
        self.billed: list[int] = []
        self._seen: set[int] = set()
        self._opened: list[Driver] = []
        self._billing: threading.Thread | None = None
        self._stopping = threading.Event()
        self.error: BaseException | None = None

    def close(self) -> None:
        self.stop_billing()
        for driver in self._opened:
            driver.close()

    def client(self) -> Driver:
        driver = self._driver_type(self.servers)
        self._opened.append(driver)
        return driver

    # Orders

    def place_order(self, number: int, **settings: Any) -> None:
        """Publish an order, keyed by its number."""
        self.publish("orders", json.dumps({"id": number}).encode(), b"%d" % number, **settings)

    def publish(self, topic: str, value: bytes, key: bytes | None = None, **settings: Any) -> None:
        self.client().produce(topic, None, [Row(None, value, key)], **settings)

    # Billing

    def start_billing(self) -> None:
        """Bill orders in a thread until the shop is closed."""
        self._stopping.clear()
        self._billing = threading.Thread(target=self._bill, name="billing")
        self._billing.start()

    def stop_billing(self) -> None:
        self._stopping.set()
        if self._billing is not None:
            self._billing.join()
            self._billing = None

    def _bill(self) -> None:
        driver = self._driver_type(self.servers)
        member = driver.member("billing", "orders")
        try:
            while not self._stopping.is_set():
                self._bill_polled(driver, member)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        finally:
            driver.close()

    def bill_once(self) -> None:
        """Bill the orders of one poll that finds any, and commit."""
        driver = self._driver_type(self.servers)
        try:
            member = driver.member("billing", "orders")
            while not self._bill_polled(driver, member):
                pass
        finally:
            driver.close()

    def _bill_polled(self, driver: Driver, member: Member) -> bool:
        polled = member.poll()
        for _, message in polled:
            self._bill_message(driver, message)
        if polled:
            member.commit()
        return bool(polled)

    def _bill_message(self, driver: Driver, message: Message) -> None:
        assert message.value is not None
        try:
            number = json.loads(message.value)["id"]
        except ValueError as error:
            name = type(error).__name__.encode()
            driver.produce("orders.dlq", 0, [Row(None, message.value, None, [("error", name)])])
            return
        self.billed.append(number)
        if number not in self._seen:
            self._seen.add(number)
            driver.produce("invoices", 0, [Row(None, b"%d" % number)])

    # Payments

    def payments(self, transactional_id: str = "payments") -> Transactions:
        return self.client().transactional(transactional_id)

    def transfer(self, amount: int, *, fail: bool = False) -> None:
        """Write a debit and a credit in one transaction."""
        payments = self.payments()
        payments.begin()
        payments.send("transfers", 0, [Row(None, b"-%d" % amount)])
        if fail:
            payments.abort()
            raise PaymentFailed
        payments.send("transfers", 0, [Row(None, b"+%d" % amount)])
        payments.commit()

    # Reports

    def report(self, topic: str, count: int, isolation: str = "read_uncommitted") -> list[bytes | None]:
        """Return the values of at least `count` records."""
        found = self.client().read(topic, {0: 0}, count, isolation)
        return [message.value for _, message in found]

    def since(self, topic: str, time_ms: int) -> list[bytes | None]:
        """Return the values of the records from a time on."""
        client = self.client()
        found = client.offsets_for_times(topic, {0: time_ms})[0]
        if found is None:
            return []
        [end] = client.end_offsets(topic, [0])
        return [message.value for _, message in client.read(topic, {0: found.offset}, end - found.offset)]

    def offsets(self, topic: str) -> tuple[int, int]:
        """Return the first and the last offset of a topic with one partition."""
        client = self.client()
        return client.beginning_offsets(topic, [0])[0], client.end_offsets(topic, [0])[0]


class PaymentFailed(Exception):
    """The shop gave up a payment."""


def numbers(values: Sequence[bytes | None]) -> list[int]:
    return [int(value or b"0") for value in values]
