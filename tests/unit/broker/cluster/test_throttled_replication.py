"""`kafkalet.broker.cluster.throttled_replication`: replicas that are added within the limits of their brokers."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from kafkalet.broker.cluster.metadata import PartitionState
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.build import build_batch, numbered
from tests.unit.broker.apis.asking import Asking, asking

LARGE = build_batch(numbered([(1_600_000_000_000, None, b"x" * 900_000, ())]))
BATCHES = 3
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
WINDOWS_MS = 12_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ask(clock: ManualClock) -> Iterator[Asking]:
    with asking(brokers=3, clock=clock) as asked:
        yield asked


def begin_move(
    ask: Asking,
    config: dict[str, str],
    rates: Mapping[int | None, dict[str, str]] | Mapping[int, dict[str, str]],
    *,
    is_new: bool = True,
    replicas: Sequence[int] = (1, 2),
) -> None:
    """Add broker 2 to a partition of broker 1, which has large batches if it is new."""
    if is_new:
        ask.cluster.topic("t").create(config=config, assignments=[[1]])
        for _ in range(BATCHES):
            ask.cluster.topic("t").append(LARGE)
    server = ask.cluster._server

    def move() -> None:
        server.metadata.broker_config.update(rates)
        server.controller.leadership.move(server.metadata.topics["t"], state_of(ask), list(replicas))

    server.call(move)


def state_of(ask: Asking) -> PartitionState:
    state = ask.cluster._server.metadata.partition("t", 0)
    assert state is not None
    return state


def copied(ask: Asking) -> int:
    """Return the number of batches on broker 2."""
    return ask.cluster._server.nodes[2].partitions["t", 0].log.log_end_offset


@pytest.mark.parametrize(
    ("config", "rates"),
    [
        ({LEADERS: "*"}, {1: {LEADER_RATE: "1"}}),
        ({FOLLOWERS: "*"}, {2: {FOLLOWER_RATE: "1"}}),
        ({LEADERS: "1:1,0:1"}, {1: {LEADER_RATE: "1"}}),
        ({FOLLOWERS: "0:2"}, {2: {FOLLOWER_RATE: "1"}}),
    ],
)
def test_throttled_replica_waits_after_one_fetch(
    config: dict[str, str], rates: dict[int, dict[str, str]], ask: Asking
) -> None:
    begin_move(ask, config, rates)
    assert copied(ask) == 1
    assert (state_of(ask).isr, state_of(ask).adding) == ([1], [2])


@pytest.mark.parametrize(
    ("config", "rates"),
    [
        ({LEADERS: "*"}, {}),
        ({LEADERS: "*"}, {1: {FOLLOWER_RATE: "1"}, 2: {LEADER_RATE: "1"}}),
        ({LEADERS: "0:2", FOLLOWERS: "0:1,0:3"}, {1: {LEADER_RATE: "1"}, 2: {FOLLOWER_RATE: "1"}}),
        ({}, {1: {LEADER_RATE: "1"}, 2: {FOLLOWER_RATE: "1"}}),
    ],
)
def test_replica_without_a_limit_is_copied_at_once(
    config: dict[str, str], rates: dict[int, dict[str, str]], ask: Asking
) -> None:
    begin_move(ask, config, rates)
    assert copied(ask) == BATCHES
    assert (state_of(ask).isr, state_of(ask).is_moving) == ([1, 2], False)


def test_throttled_replica_continues_when_the_rate_is_below_the_limit(ask: Asking, clock: ManualClock) -> None:
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "33"}})
    leadership = ask.cluster._server.controller.leadership
    ask.cluster._server.call(leadership.replicate_throttled)
    assert copied(ask) == 1
    for _ in range(1, BATCHES):
        clock.advance(milliseconds=WINDOWS_MS)
        ask.cluster._server.call(leadership.replicate_throttled)
    assert (copied(ask), state_of(ask).isr, state_of(ask).is_moving) == (BATCHES, [1, 2], False)


def test_throttled_replica_does_not_continue_if_empty_responses_exceed_the_rate(
    ask: Asking, clock: ManualClock
) -> None:
    """A follower gets 16 bytes every 500 ms."""
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "31"}})
    clock.advance(milliseconds=WINDOWS_MS)
    ask.cluster._server.call(ask.cluster._server.controller.leadership.replicate_throttled)
    assert (copied(ask), state_of(ask).is_moving) == (1, True)


def test_throttled_replica_copies_nothing_if_empty_responses_to_other_followers_exceed_the_rate(ask: Asking) -> None:
    ask.cluster.topic("idle").create(assignments=[[1, 3]])
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "31"}})
    assert (copied(ask), state_of(ask).is_moving) == (0, True)


def test_throttled_replica_takes_the_time_of_its_bytes_at_the_rate(ask: Asking, clock: ManualClock) -> None:
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "350000"}})
    progress = []
    while state_of(ask).is_moving:
        progress.append(copied(ask))
        clock.advance(seconds=1)
        ask.cluster._server.call(lambda: None)
    assert progress == [1, 1, 1, 2, 2, 2], "fetches of 1 MiB, each with one whole batch, after 0, 3 and 6 seconds"


def test_rate_of_all_brokers_applies_to_a_broker_without_a_rate(ask: Asking) -> None:
    rates: dict[int | None, dict[str, str]] = {None: {FOLLOWER_RATE: "1"}, 1: {FOLLOWER_RATE: "9999999"}}
    begin_move(ask, {FOLLOWERS: "*"}, rates)
    assert copied(ask) == 1


def test_throttled_replica_copies_a_batch_at_once_if_fetches_are_small(clock: ManualClock) -> None:
    with asking(brokers=2, clock=clock, config={"replica.fetch.max.bytes": "1"}) as ask:
        small = build_batch(numbered([(1_600_000_000_000, None, b"x", ())]))
        ask.cluster.topic("t").create(config={LEADERS: "*"}, assignments=[[1]])
        for _ in range(BATCHES):
            ask.cluster.topic("t").append(small)
        begin_move(ask, {}, {1: {LEADER_RATE: "1"}}, is_new=False)
        assert copied(ask) == 1


def test_what_replicas_in_sync_copy_counts(ask: Asking) -> None:
    ask.cluster.topic("t").create(config={LEADERS: "*"}, assignments=[[1, 3]])
    ask.cluster.topic("t").append(LARGE)
    begin_move(ask, {}, {1: {LEADER_RATE: "100000"}}, is_new=False, replicas=[1, 3, 2])
    assert copied(ask) == 0


def test_removed_limit_lets_the_replica_continue(ask: Asking) -> None:
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "1"}})
    server = ask.cluster._server
    server.call(lambda: server.metadata.broker_config.pop(1))
    server.call(server.controller.leadership.replicate_throttled)
    assert (copied(ask), state_of(ask).is_moving) == (BATCHES, False)


def test_replica_in_sync_is_not_throttled(ask: Asking) -> None:
    begin_move(ask, {LEADERS: "*"}, {})
    ask.cluster._server.metadata.broker_config[1] = {LEADER_RATE: "1"}
    for _ in range(3):
        ask.cluster.topic("t").append(LARGE)
    assert copied(ask) == BATCHES + 3


def test_deleted_topic_with_a_throttled_replica_is_forgotten(ask: Asking) -> None:
    begin_move(ask, {LEADERS: "*"}, {1: {LEADER_RATE: "1"}})
    leadership = ask.cluster._server.controller.leadership
    assert leadership.may_replicate_throttled
    ask.cluster.topic("t").delete()
    ask.cluster._server.call(leadership.replicate_throttled)
    assert not leadership.may_replicate_throttled
