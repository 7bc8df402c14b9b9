"""`kafkalet.broker.apis.produce`: batches that are validated in a thread.

Most tests of Produce are in tests/wire; CONTRIBUTING.md explains which tests cover which claims.
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.effort import MANY_BYTES
from tests.wire.brokers import batch

from .asking import asking


def test_large_batch_for_a_partition_that_another_broker_leads_is_refused() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.create_topic("t", assignments=[[1]])
        partition = {"index": 0, "records": bytes(batch(bytes(MANY_BYTES)))}
        topic = {"name": "t", "partition_data": [partition]}
        answer = ask(Api.PRODUCE, 9, node=2, acks=1, timeout_ms=1000, topic_data=[topic])
        assert [each["error_code"] for each in answer["responses"][0]["partition_responses"]] == [
            Code.NOT_LEADER_OR_FOLLOWER
        ]
        assert ask.cluster.log("t").log_end_offset == 0
