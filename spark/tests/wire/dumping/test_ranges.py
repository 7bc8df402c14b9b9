"""`kafkalet_spark.dumping.ranges` with a live broker."""

from pathlib import Path

import kafkalet
from kafkalet_spark.dumping.ranges import topic_ids
from kafkalet_spark.options import read_options


def test_broker_and_its_directory_have_the_same_topic_id(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["a", "b"]) as broker:
        live = read_options({"subscribe": "a,b", "kafka.bootstrap.servers": broker.bootstrap_servers})
        result = topic_ids(live, {"a", "b"})
    assert topic_ids(read_options({"path": str(tmp_path)}), {"a", "b"}) == result
    assert result["a"] is not None
    assert result["a"] != result["b"]
