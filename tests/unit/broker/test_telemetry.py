"""Telemetry: what clients are to push, how often, and what is too soon."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalet.broker.cluster.metadata import MetadataImage, new_topic_id
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.telemetry import MAX_CLIENTS, Telemetry
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError

HOUR_MS = 3_600_000


class Kitchen:
    """A telemetry with a clock, and a client."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.metadata = MetadataImage("")
        self.telemetry = Telemetry(self.metadata, Release.of())
        nobody: Any = None
        node = SimpleNamespace(metadata=self.metadata, release=None, clock=self.clock, client_clock=self.clock)
        self.context = Context(
            SimpleNamespace(node=node, controller=None, authorizer=None), nobody, ("127.0.0.1", 1234), "PLAINTEXT"
        )
        self.context.client_id = "client"
        self.id = new_topic_id()

    def subscribe(self, name: str, **texts: str) -> None:
        self.metadata.client_metrics[name] = {key.replace("_", "."): value for key, value in texts.items()}

    def ask(self) -> Any:
        try:
            return self.telemetry.ask(self.id, self.context)
        except KafkaError as error:
            return error.code

    def push(self, subscription_id: int, is_ending: bool = False) -> Code:
        try:
            self.telemetry.push(self.id, subscription_id, is_ending, self.context)
        except KafkaError as error:
            return error.code
        return Code.NONE


def test_without_subscriptions_nothing_is_asked_for() -> None:
    subscription = Kitchen().ask()
    assert (subscription.metrics, subscription.interval_ms) == ([], 300_000)


def test_subscriptions_add_up_and_the_shortest_interval_counts() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x,y", interval_ms="5000")
    kitchen.subscribe("b", metrics="z", interval_ms="1000")
    kitchen.subscribe("c", metrics="other", match="client_id=another")
    assert kitchen.ask()[1:] == (["x", "y", "z"], 1000)


def test_all_metrics_are_all_metrics() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x,*")
    assert kitchen.ask().metrics == ["*"]


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ("client_id=cl.*", True),
        ("client_id=cl", False),
        ("client_source_address=127\\.0\\.0\\.1,client_source_port=12..", True),
        ("client_id=client,client_source_port=1", False),
        ("client_software_name=anything", False),
        ("", True),
    ],
)
def test_who_is_meant(match: str, fits: bool) -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match=match)
    assert kitchen.ask().metrics == (["x"] if fits else [])


def test_a_client_id_too_long_to_be_matched_fits_nothing() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match="client_id=a{500}a*")
    kitchen.context.client_id = "a" * 30_000
    assert kitchen.ask().metrics == []


def test_a_subscription_that_changes_is_matched_anew() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match="client_id=other")
    assert kitchen.ask().metrics == []
    kitchen.subscribe("a", metrics="x", match="client_id=client")
    assert kitchen.ask().metrics == ["x"]


def test_patterns_of_dropped_subscriptions_are_forgotten() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match="client_id=client")
    kitchen.ask()
    del kitchen.metadata.client_metrics["a"]
    kitchen.subscribe("b", metrics="x", match="client_id=client")
    kitchen.ask()
    assert kitchen.telemetry._patterns.keys() == {"b"}


def test_asking_again_too_soon_is_refused() -> None:
    kitchen = Kitchen()
    kitchen.ask()
    assert kitchen.ask() is Code.THROTTLING_QUOTA_EXCEEDED
    kitchen.clock.advance(milliseconds=300_000)
    assert kitchen.ask().metrics == []


def test_the_first_push_may_come_at_once_and_the_next_one_has_to_wait() -> None:
    kitchen = Kitchen()
    subscription = kitchen.ask()
    assert kitchen.push(subscription.id) is Code.NONE
    assert kitchen.push(subscription.id) is Code.THROTTLING_QUOTA_EXCEEDED
    kitchen.clock.advance(milliseconds=300_000)
    assert kitchen.push(subscription.id) is Code.NONE


def test_the_last_push_may_come_any_time_and_nothing_after_it() -> None:
    kitchen = Kitchen()
    subscription = kitchen.ask()
    kitchen.push(subscription.id)
    assert kitchen.push(subscription.id, is_ending=True) is Code.NONE
    kitchen.clock.advance(milliseconds=HOUR_MS)
    assert kitchen.push(subscription.id) is Code.INVALID_REQUEST


def test_who_pushes_to_an_old_subscription_asks_anew_at_once() -> None:
    kitchen = Kitchen()
    before = kitchen.ask()
    kitchen.subscribe("a", metrics="x")
    assert kitchen.push(before.id) is Code.UNKNOWN_SUBSCRIPTION_ID
    kitchen.clock.advance(milliseconds=1)
    after = kitchen.ask()
    assert (after.metrics, after.id == before.id) == (["x"], False)
    assert kitchen.push(after.id) is Code.NONE


def test_not_more_clients_are_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CLIENTS > 1000
    monkeypatch.setattr("kafkalet.broker.telemetry.MAX_CLIENTS", 3)
    kitchen = Kitchen()
    for _ in range(5):
        kitchen.id = new_topic_id()
        kitchen.ask()
    assert len(kitchen.telemetry._instances) == 3
