"""`kafkalet.broker.apis.fetch`: changes during the pauses of a request that takes long.

Most tests of Fetch are in tests/wire; CONTRIBUTING.md explains which tests cover which claims.
"""

from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.tasks.task import finish
from tests.wire.brokers import batch

from .asking import Asking, as_returned, asking

CONVERTED = 4
"""A version whose records may be converted, so the handler pauses between partitions."""
WAIT = {"max_wait_ms": 60_000, "min_bytes": 1}


def fetch(*indexes: int) -> dict[str, Any]:
    partitions = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000} for index in indexes]
    return {"max_bytes": 1000, "topics": [{"topic": "t", "partitions": partitions}]}


def after_one_turn(ask: Asking, change: Any, **fields: Any) -> list[dict[str, Any]]:
    """Return the partitions of a Fetch response. `change` is called after the first partition has been read."""

    def handle() -> Any:
        work = ask.begin(Api.FETCH, CONVERTED, **fields)
        work.send(None)
        change()
        return finish(work)

    [topic] = as_returned(Api.FETCH, CONVERTED, ask.cluster._server.call(handle))["responses"]
    partitions: list[dict[str, Any]] = topic["partitions"]
    return partitions


def test_records_appended_during_a_long_fetch_complete_it() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create(2)
        records = batch(b"new")
        leader = ask.cluster._server.leadership.leader_of("t", 0)
        first, second = after_one_turn(ask, lambda: leader.append(records), **fetch(0, 1), **WAIT)
        assert (first["high_watermark"], len(first["records"])) == (1, len(records))
        assert (second["error_code"], second["records"]) == (Code.NONE, b"")


def test_converting_version_refuses_partition_of_another_broker() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1]])
        [topic] = ask(Api.FETCH, CONVERTED, node=2, **fetch(0), **WAIT)["responses"]
        assert [each["error_code"] for each in topic["partitions"]] == [Code.NOT_LEADER_OR_FOLLOWER]
