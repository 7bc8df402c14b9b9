"""ListTransactions: the transactional ids of a coordinator, and filters."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx
from tests.wire.brokers import Plain, Wire, on_the_wire


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire(clock=ManualClock()) as opened:
        yield opened


def ask(wire: Wire, version: int = 2, node: int = 1, **filters: object) -> Plain:
    body = {"state_filters": [], "producer_id_filters": [], **filters}
    return wire.ask("ListTransactions", version, body, node)


def named(answer: Plain) -> set[str]:
    assert answer["error_code"] == Code.NONE
    return {each["transactional_id"] for each in answer["transaction_states"]}


def two(wire: Wire) -> tuple[Tx, Tx]:
    """Return an idle producer and one with an open transaction."""
    idle, busy = Tx(wire, "idle"), Tx(wire, "busy")
    assert idle.init() == busy.init() == busy.add() == Code.NONE
    return idle, busy


@pytest.mark.parametrize("version", range(3))
def test_request_without_filter_lists_all_transactional_ids(wire: Wire, version: int) -> None:
    idle, busy = two(wire)
    assert sorted(ask(wire, version)["transaction_states"], key=lambda each: each["transactional_id"]) == [
        {"transactional_id": "busy", "producer_id": busy.producer_id, "transaction_state": "Ongoing"},
        {"transactional_id": "idle", "producer_id": idle.producer_id, "transaction_state": "Empty"},
    ]


def test_state_filter_returns_unknown_states(wire: Wire) -> None:
    two(wire)
    answer = ask(wire, state_filters=["Ongoing", "Dead", "Lost", "Lost", "ongoing"])
    assert named(answer) == {"busy"}
    assert answer["unknown_state_filters"] == ["Lost", "ongoing"]
    assert named(ask(wire, state_filters=["Lost"])) == set()


def test_producer_filter_selects_transactional_ids(wire: Wire) -> None:
    _, busy = two(wire)
    assert named(ask(wire, producer_id_filters=[busy.producer_id, 999])) == {"busy"}
    assert named(ask(wire, producer_id_filters=[busy.producer_id], state_filters=["Empty"])) == set()


def test_duration_filter_selects_long_transactions(wire: Wire) -> None:
    two(wire)
    assert named(ask(wire, duration_filter=1000, state_filters=["Ongoing"])) == set()
    clock = wire.cluster._server.clock
    assert isinstance(clock, ManualClock)
    wire.cluster._server.call(lambda: clock.advance(milliseconds=1000))
    assert named(ask(wire, duration_filter=1000, state_filters=["Ongoing"])) == set()
    wire.cluster._server.call(lambda: clock.advance(milliseconds=1))
    assert named(ask(wire, duration_filter=1000, state_filters=["Ongoing"])) == {"busy"}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (None, {"busy", "idle"}),
        ("", {"busy", "idle"}),
        ("b.*", {"busy"}),
        ("b", set()),
        (".*[yz]|idle", {"busy", "idle"}),
    ],
)
def test_pattern_selects_matching_transactional_ids(wire: Wire, pattern: str | None, found: set[str]) -> None:
    two(wire)
    assert named(ask(wire, transactional_id_pattern=pattern)) == found


def test_pattern_matches_non_ascii_transactional_ids(wire: Wire) -> None:
    assert Tx(wire, "größe").init() == Code.NONE
    assert named(ask(wire, transactional_id_pattern="gr..e")) == {"größe"}
    assert named(ask(wire, transactional_id_pattern="gr.e")) == set()
    assert named(ask(wire, transactional_id_pattern=r"\pL+x")) == set()


@pytest.mark.parametrize("pattern", ["(", "*", "(?=b)busy", r"(b)\1"])
def test_invalid_pattern_is_refused(wire: Wire, pattern: str) -> None:
    answer = ask(wire, transactional_id_pattern=pattern, state_filters=["Lost"])
    assert answer["error_code"] == Code.INVALID_REGULAR_EXPRESSION
    assert answer["transaction_states"] == answer["unknown_state_filters"] == []


def test_each_broker_lists_its_own_transactional_ids() -> None:
    with on_the_wire(2) as wire:
        producers = [Tx(wire, f"id-{number}") for number in range(8)]
        for producer in producers:
            assert producer.init() == Code.NONE
        for node in (1, 2):
            assert named(ask(wire, node=node)) == {
                producer.transactional_id for producer in producers if producer.node == node
            }
