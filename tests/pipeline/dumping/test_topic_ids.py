"""`kafkalet.pipeline.dumping.topic_ids`: the ids of topics, in directories and of a broker."""

from pathlib import Path

import kafkalet
from kafkalet.pipeline.dumping.topic_ids import as_text, topic_ids
from kafkalet.pipeline.options import read_options


def test_an_id_is_shown_as_kafka_shows_it() -> None:
    assert as_text(bytes.fromhex("000102030405060708090a0b0c0d0eff")) == "AAECAwQFBgcICQoLDA0O_w"


def test_zeros_and_nothing_are_no_id() -> None:
    assert as_text(bytes(16)) is None
    assert as_text(None) is None


def test_a_broker_and_its_directory_tell_the_same_id(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["a", "b"]) as broker:
        live = read_options({"subscribe": "a,b", "kafka.bootstrap.servers": broker.bootstrap_servers})
        told = topic_ids(live, {"a", "b"})
    assert topic_ids(read_options({"path": str(tmp_path)}), {"a", "b"}) == told
    assert told["a"] is not None
    assert told["a"] != told["b"]


def test_a_topic_without_an_id_has_none(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["old"]):
        pass
    (tmp_path / "old-0" / "partition.metadata").unlink()
    assert topic_ids(read_options({"path": str(tmp_path)}), {"old"}) == {"old": None}
