"""The broker of a `unittest` test case.

class TestOrders(kafkalet.testing.KafkaTestCase):
    kafka_options = {"version": "3.9", "topics": {"orders": 6}}

    def test_it(self):
        self.kafka.topic("orders").send("one")
"""

import functools
import inspect
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from kafkalet.broker.arguments import check_names

from .broker_options import NAMES, new_cluster
from .cluster import Cluster
from .lifetime import add_report, unfired

__unittest = True  # unittest omits the frames of this module from tracebacks

AROUND = ("setUp", "asyncSetUp", "tearDown", "asyncTearDown")
"""The methods that run before and after the test."""


class KafkaTestCase(unittest.TestCase):
    """A test case with a new broker for each test: `self.kafka`.

    The broker starts when `setUp` or the test first uses it, and stops after `tearDown`. The error of a failed
    test, subtest, `setUp` or `tearDown` has a note with a report about the broker. For coroutines, also derive
    from `unittest.IsolatedAsyncioTestCase`: `class TestOrders(KafkaTestCase, IsolatedAsyncioTestCase)`.
    """

    kafka_options: ClassVar[Mapping[str, Any]] = {}
    """The options of the broker, as for `kafkalet.with_broker`. With `brokers` of 2 or more, `kafka` is a `Cluster`."""

    _kafka: Cluster | None = None
    _has_passed = False
    """Whether the method of the test has returned."""
    _has_failed = False
    """Whether a part of the test has failed or has been skipped."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        check_names(f"{cls.__qualname__}.kafka_options", cls.kafka_options, NAMES)

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
            failure = unfired(cluster) if self._has_passed and not self._has_failed else ""
            cluster.__exit__(None, None, None)
            if failure:
                self.fail(failure)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run the test as usual, but add the report about the broker to its error."""
        names = [name for name in (*AROUND, self._testMethodName) if hasattr(self, name)]
        had = dict(self.__dict__)  # pytest also sets the method in the instance, and deletes it later
        self._has_passed = self._has_failed = False
        for name in names:
            setattr(self, name, self._reporting(getattr(self, name), is_test=name == self._testMethodName))
        try:
            return super().run(result)
        finally:
            for name in names:
                if name in had:
                    setattr(self, name, had[name])
                else:
                    delattr(self, name)

    @contextmanager
    def subTest(self, *message: Any, **parameters: Any) -> Iterator[None]:
        """Run a part of the test as usual, but add the report about the broker to its error."""
        with super().subTest(*message, **parameters):
            try:
                yield
            except Exception as error:
                self._add_report(error)
                raise

    def _reporting(self, method: Callable[[], Any], *, is_test: bool) -> Callable[[], Any]:
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def call_async() -> Any:
                __tracebackhide__ = True
                try:
                    result = await method()
                except Exception as error:
                    self._add_report(error)
                    raise
                self._has_passed |= is_test
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
            self._has_passed |= is_test
            return result

        return call

    def _add_report(self, error: Exception) -> None:
        self._has_failed = True
        if self._kafka is not None:
            add_report(error, self._kafka)
