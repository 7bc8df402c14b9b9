"""`kafkalet.broker.apis.alter_replica_log_dirs`: its error codes. Moves are tested in test_log_moves.py."""

from kafkalet.protocol.api import Api

from .asking import Asking, asking

NONE, UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE, INVALID_TOPIC_EXCEPTION, LOG_DIR_NOT_FOUND = 0, 3, 9, 17, 57


def put(ask: Asking, path: str, *topics: tuple[str, int]) -> list[int]:
    wanted = [{"path": path, "topics": [{"name": name, "partitions": [index]} for name, index in topics]}]
    answer = ask(Api.ALTER_REPLICA_LOG_DIRS, 2, dirs=wanted)
    return [partition["error_code"] for topic in answer["results"] for partition in topic["partitions"]]


def test_move_to_the_current_directory_succeeds() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(assignments=[[1], [2]])
        path = ask.cluster._server.nodes[1].directories.paths[0]
        assert put(ask, path, ("t", 0)) == [NONE]
        assert put(ask, path, ("t", 1)) == [REPLICA_NOT_AVAILABLE]
        assert put(ask, path, ("t", 2), ("u", 0)) == [UNKNOWN_TOPIC_OR_PARTITION] * 2


def test_partition_without_a_replica_here_is_created_in_the_directory_later() -> None:
    with asking(brokers=2) as ask:
        path = ask.cluster._server.nodes[1].directories.paths[0]
        ask.cluster.topic("t").create(assignments=[[2]])
        assert put(ask, path, ("t", 0)) == [REPLICA_NOT_AVAILABLE]
        assert ask.cluster._server.nodes[1].directories.preferred == {("t", 0): path}


def test_name_that_is_too_long_for_a_copy_is_refused() -> None:
    with asking(topics=["t"]) as ask:
        path = ask.cluster._server.nodes[1].directories.paths[0]
        assert put(ask, path, ("x" * 213, 0)) == [UNKNOWN_TOPIC_OR_PARTITION]
        assert put(ask, path, ("x" * 214, 0)) == [INVALID_TOPIC_EXCEPTION]


def test_move_to_an_unknown_directory_is_refused() -> None:
    with asking(topics=["t"]) as ask:
        assert put(ask, "/somewhere/else", ("t", 0), ("u", 0)) == [LOG_DIR_NOT_FOUND] * 2
