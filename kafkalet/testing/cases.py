"""The broker of a `unittest` test case.

class TestOrders(kafkalet.testing.KafkaTestCase):
    kafka_options = {"version": "3.9", "topics": {"orders": 6}}

    def test_it(self):
        self.kafka.topic("orders").send("one")
"""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .broker_options import check_names, new_cluster
from .cluster import Cluster
from .lifetime import add_report, unfired

__unittest = True  # unittest leaves the frames of this module out of tracebacks


class KafkaTestCase(unittest.TestCase):
    """A test case with a new broker for each test: `self.kafka`.

    The broker starts when the test, or its `setUp`, first uses it, and stops after `tearDown`. The error of a failed
    test has a note with a report about the broker. For coroutines, derive from `unittest.IsolatedAsyncioTestCase`, too:
    `class TestOrders(KafkaTestCase, IsolatedAsyncioTestCase)`.
    """

    kafka_options: ClassVar[Mapping[str, Any]] = {}
    """The options of the broker, as for `kafkalet.with_broker`. With `brokers` of 2 or more, `kafka` is a `Cluster`."""

    _kafka: Cluster | None = None
    _has_passed = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        check_names(f"{cls.__qualname__}.kafka_options", cls.kafka_options)

    @property
    def kafka(self) -> Cluster:
        """The broker of the test."""
        if self._kafka is None:
            cluster = new_cluster(self.kafka_options)
            cluster.__enter__()
            self._kafka = cluster
            self.addCleanup(self._stop_kafka)
        return self._kafka

    def _stop_kafka(self) -> None:
        cluster, self._kafka = self._kafka, None
        if cluster is not None:
            failure = unfired(cluster) if self._has_passed else ""
            cluster.__exit__(None, None, None)
            if failure:
                self.fail(failure)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run the test as usual, but add the report about the broker to its error."""
        name = self._testMethodName
        had = dict(self.__dict__)  # pytest sets the method in the instance, too, and deletes it later
        setattr(self, name, self._reporting(getattr(self, name)))
        try:
            return super().run(result)
        finally:
            if name in had:
                setattr(self, name, had[name])
            else:
                delattr(self, name)

    def _reporting(self, method: Callable[[], Any]) -> Callable[[], Any]:
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def call_async() -> Any:
                __tracebackhide__ = True
                try:
                    result = await method()
                except Exception as error:
                    self._add_report(error)
                    raise
                self._has_passed = True
                return result

            return call_async

        @functools.wraps(method)
        def call() -> Any:
            __tracebackhide__ = True
            try:
                result = method()
            except Exception as error:
                self._add_report(error)
                raise
            self._has_passed = True
            return result

        return call

    def _add_report(self, error: Exception) -> None:
        if self._kafka is not None:
            add_report(error, self._kafka)
