"""`kafkalet.broker.apis.elect_leaders`: preferred and unclean elections."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch, numbered

from .asking import Asking, asking

PREFERRED, UNCLEAN = 0, 1
NONE, PREFERRED_NOT_AVAILABLE, ELIGIBLE_NOT_AVAILABLE, NOT_NEEDED = 0, 80, 83, 84
BATCH = build_batch(numbered([(1_600_000_000_000, None, b"v", ())]))


def elect(ask: Asking, kind: int, *topics: str, node: int = 1) -> dict[str, list[int]]:
    """Return the error codes by topic. Without `topics`, elect leaders of all partitions."""
    wanted: Any = [{"topic": name, "partitions": [0]} for name in topics] or None
    answer = ask(Api.ELECT_LEADERS, 2, node=node, election_type=kind, topic_partitions=wanted)
    assert answer["error_code"] == 0
    return {
        result["topic"]: [partition["error_code"] for partition in result["partition_result"]]
        for result in answer["replica_election_results"]
    }


def leader_of(ask: Asking, topic: str) -> tuple[int, int]:
    state = ask.cluster._server.metadata.partition(topic, 0)
    assert state is not None
    return state.leader, state.leader_epoch


def test_preferred_election_restores_the_first_replica_in_a_new_epoch() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[2, 1]])
        ask.cluster.broker(2).stop()
        assert elect(ask, PREFERRED, "t") == {"t": [PREFERRED_NOT_AVAILABLE]}
        assert leader_of(ask, "t") == (1, 1)
        ask.cluster.broker(2).start()
        assert elect(ask, PREFERRED, "t") == {"t": [NONE]}
        assert leader_of(ask, "t") == (2, 2)
        assert elect(ask, PREFERRED, "t") == {"t": [NOT_NEEDED]}


def test_preferred_replica_out_of_sync_is_not_elected() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[2, 1]])
        ask.cluster.broker(2).stop()
        ask.cluster.topic("t").append(BATCH)
        ask.cluster.hold_replication(2)
        ask.cluster.broker(2).start()
        assert elect(ask, PREFERRED, "t") == {"t": [PREFERRED_NOT_AVAILABLE]}
        assert leader_of(ask, "t") == (1, 1)


def test_unclean_election_elects_any_replica_and_loses_records() -> None:
    with asking(brokers=3) as ask:
        ask.cluster.topic("t").create(config={"min.insync.replicas": "1"}, assignments=[[2, 3]])
        ask.cluster.broker(3).stop()
        ask.cluster.topic("t").append(BATCH)
        ask.cluster.broker(2).stop()
        assert elect(ask, UNCLEAN, "t") == {"t": [ELIGIBLE_NOT_AVAILABLE]}
        ask.cluster.broker(3).start()
        assert leader_of(ask, "t")[0] == -1
        assert elect(ask, PREFERRED, "t") == {"t": [PREFERRED_NOT_AVAILABLE]}
        assert elect(ask, UNCLEAN, "t") == {"t": [NONE]}
        assert leader_of(ask, "t")[0] == 3
        assert ask.cluster.topic("t").log().log_end_offset == 0
        assert elect(ask, UNCLEAN, "t") == {"t": [NOT_NEEDED]}


def test_election_of_all_partitions_returns_only_those_that_needed_one() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[2, 1]])
        ask.cluster.topic("u").create(assignments=[[1, 2]])
        ask.cluster.topic("t").move_leader(1)
        assert elect(ask, PREFERRED) == {"t": [NONE], "u": []}
        assert leader_of(ask, "t")[0] == 2


def test_response_with_zookeeper_omits_duplicates_and_empty_topics() -> None:
    with asking(topics=["t"], version="2.8") as ask:
        assert elect(ask, PREFERRED) == {}
        assert elect(ask, PREFERRED, "t", "t") == {"t": [NOT_NEEDED]}


@pytest.mark.parametrize(("kind", "timeout_ms", "code"), [(2, 1000, 42), (-1, 1000, 42), (PREFERRED, 0, 7), (2, 0, 7)])
def test_invalid_request_is_refused(kind: int, timeout_ms: int, code: int) -> None:
    with asking() as ask, pytest.raises(KafkaError) as refused:
        ask(Api.ELECT_LEADERS, 2, election_type=kind, topic_partitions=None, timeout_ms=timeout_ms)
    assert refused.value.code == code


@pytest.mark.parametrize(("release", "code"), [("2.8", Code.UNKNOWN_SERVER_ERROR), ("3.9", Code.INVALID_REQUEST)])
def test_unknown_election_type_is_refused(release: str, code: Code) -> None:
    with asking(version=release) as ask:
        with pytest.raises(KafkaError) as refused:
            ask(Api.ELECT_LEADERS, 2, election_type=7, topic_partitions=None)
        assert refused.value.code is code
