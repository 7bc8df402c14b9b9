"""Telemetry: which metrics clients push, how often, and which requests come too early."""

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
    """The telemetry of a broker, with a clock and a client."""

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


def test_without_subscriptions_no_metrics_are_requested() -> None:
    subscription = Kitchen().ask()
    assert (subscription.metrics, subscription.interval_ms) == ([], 300_000)


def test_matching_subscriptions_are_merged_with_the_shortest_interval() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x,y", interval_ms="5000")
    kitchen.subscribe("b", metrics="z", interval_ms="1000")
    kitchen.subscribe("c", metrics="other", match="client_id=another")
    assert kitchen.ask()[1:] == (["x", "y", "z"], 1000)


def test_wildcard_replaces_all_other_metrics() -> None:
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
def test_subscription_matches_client_attributes(match: str, fits: bool) -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match=match)
    assert kitchen.ask().metrics == (["x"] if fits else [])


def test_overlong_client_id_matches_no_subscription() -> None:
    kitchen = Kitchen()
    kitchen.subscribe("a", metrics="x", match="client_id=a{500}a*")
    kitchen.context.client_id = "a" * 30_000
    assert kitchen.ask().metrics == []


def test_changed_subscription_is_matched_again() -> None:
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


def test_early_request_for_a_subscription_is_refused() -> None:
    kitchen = Kitchen()
    kitchen.ask()
    assert kitchen.ask() is Code.THROTTLING_QUOTA_EXCEEDED
    kitchen.clock.advance(milliseconds=300_000)
    assert kitchen.ask().metrics == []


def test_first_push_is_accepted_immediately_and_the_next_one_must_wait() -> None:
    kitchen = Kitchen()
    subscription = kitchen.ask()
    assert kitchen.push(subscription.id) is Code.NONE
    assert kitchen.push(subscription.id) is Code.THROTTLING_QUOTA_EXCEEDED
    kitchen.clock.advance(milliseconds=300_000)
    assert kitchen.push(subscription.id) is Code.NONE


def test_terminating_push_is_accepted_at_any_time_and_is_the_last() -> None:
    kitchen = Kitchen()
    subscription = kitchen.ask()
    kitchen.push(subscription.id)
    assert kitchen.push(subscription.id, is_ending=True) is Code.NONE
    kitchen.clock.advance(milliseconds=HOUR_MS)
    assert kitchen.push(subscription.id) is Code.INVALID_REQUEST


def test_client_may_request_a_new_subscription_immediately_after_a_push_to_an_old_one() -> None:
    kitchen = Kitchen()
    before = kitchen.ask()
    kitchen.subscribe("a", metrics="x")
    assert kitchen.push(before.id) is Code.UNKNOWN_SUBSCRIPTION_ID
    kitchen.clock.advance(milliseconds=1)
    after = kitchen.ask()
    assert (after.metrics, after.id == before.id) == (["x"], False)
    assert kitchen.push(after.id) is Code.NONE


def test_number_of_remembered_clients_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CLIENTS > 1000
    monkeypatch.setattr("kafkalet.broker.telemetry.MAX_CLIENTS", 3)
    kitchen = Kitchen()
    for _ in range(5):
        kitchen.id = new_topic_id()
        kitchen.ask()
    assert len(kitchen.telemetry._instances) == 3
