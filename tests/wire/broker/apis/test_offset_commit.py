"""OffsetCommit: what is written to __consumer_offsets."""

import kafkalet
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.codecs import Codec
from tests.wire.brokers import Wire


def test_commits_are_compressed_with_the_codec_of_the_offsets_topic() -> None:
    config = {"offsets.topic.num.partitions": "1", "offsets.topic.compression.codec": "1"}
    with kafkalet.Broker(config=config, topics=["t"]) as broker:
        wire = Wire(broker)
        wire.ask("FindCoordinator", 2, {"key": "g", "key_type": 0})
        partition = {"partition_index": 0, "committed_offset": 5}
        body = {"group_id": "g", "topics": [{"name": "t", "partitions": [partition]}]}
        [topic] = wire.ask("OffsetCommit", 8, body)["topics"]
        assert topic["partitions"][0]["error_code"] == Code.NONE
        log = broker._server.nodes[1].partitions["__consumer_offsets", 0].log
        wire.close()
        assert log.log_end_offset == 1
        assert {batch.codec for batch in broker.topic("__consumer_offsets").log(0).batches} == {Codec.GZIP}
