"""Fetch, stepped by hand: what happens between the turns of a request that takes long.

Who owns which claim about Fetch says CONTRIBUTING.md; most are in tests/wire.
"""

from typing import Any

from kafkalet.broker.scheduling.work import finish
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.wire.brokers import batch

from .asking import Asking, as_told, asking

CONVERTED = 4
"""A version whose answers may have to be converted, so that its partitions are read in turns."""
WAIT = {"max_wait_ms": 60_000, "min_bytes": 1}


def fetch(*indexes: int) -> dict[str, Any]:
    partitions = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000} for index in indexes]
    return {"max_bytes": 1000, "topics": [{"topic": "t", "partitions": partitions}]}


def after_one_turn(ask: Asking, change: Any, **fields: Any) -> list[dict[str, Any]]:
    """The partitions of the answer to a fetch; `change` is called when its first partition has been read."""

    def handle() -> Any:
        work = ask.begin(Api.FETCH, CONVERTED, **fields)
        work.send(None)
        change()
        return finish(work)

    [topic] = as_told(Api.FETCH, CONVERTED, ask.cluster.server.call(handle))["responses"]
    partitions: list[dict[str, Any]] = topic["partitions"]
    return partitions


def test_records_appended_while_a_long_fetch_reads_end_its_wait() -> None:
    with asking() as ask:
        ask.cluster.create_topic("t", 2)
        records = batch(b"new")
        leader = ask.cluster.server.leadership.leader_of("t", 0)
        first, second = after_one_turn(ask, lambda: leader.append(records), **fetch(0, 1), **WAIT)
        assert (first["high_watermark"], len(first["records"])) == (1, len(records))
        assert (second["error_code"], second["records"]) == (Code.NONE, b"")


def test_fetch_of_a_partition_that_another_broker_has_is_refused_in_a_version_that_converts() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.create_topic("t", assignments=[[1]])
        [topic] = ask(Api.FETCH, CONVERTED, node=2, **fetch(0), **WAIT)["responses"]
        assert [each["error_code"] for each in topic["partitions"]] == [Code.NOT_LEADER_OR_FOLLOWER]
