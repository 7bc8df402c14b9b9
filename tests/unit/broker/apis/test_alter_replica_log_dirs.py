"""`kafkalet.broker.apis.alter_replica_log_dirs`: the error codes of a broker with one log directory."""

from kafkalet.protocol.api import Api

from .asking import Asking, asking

NONE, UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE, LOG_DIR_NOT_FOUND = 0, 3, 9, 57


def put(ask: Asking, path: str, *topics: tuple[str, int]) -> list[int]:
    wanted = [{"path": path, "topics": [{"name": name, "partitions": [index]} for name, index in topics]}]
    answer = ask(Api.ALTER_REPLICA_LOG_DIRS, 2, dirs=wanted)
    return [partition["error_code"] for topic in answer["results"] for partition in topic["partitions"]]


def test_move_to_the_current_directory_succeeds() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.create_topic("t", assignments=[[1], [2]])
        path = ask.cluster.server.nodes[1].directories.paths[0]
        assert put(ask, path, ("t", 0)) == [NONE]
        assert put(ask, path, ("t", 1)) == [REPLICA_NOT_AVAILABLE]
        assert put(ask, path, ("t", 2), ("u", 0)) == [UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_move_to_another_directory_is_refused() -> None:
    with asking(topics=["t"]) as ask:
        assert put(ask, "/somewhere/else", ("t", 0), ("u", 0)) == [LOG_DIR_NOT_FOUND] * 2
