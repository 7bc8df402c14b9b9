"""AlterReplicaLogDirs v0-2: move replicas to other log directories of their broker (KIP-113).

The response is sent before the replicas have been moved; DescribeLogDirs shows the progress. If a partition does not
exist yet, or has no replica here, its directory is remembered until the replica is created.

Source: kafka.server.ReplicaManager.alterReplicaLogDirs.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.formats import FUTURE
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafkalet.storage.directory import MAX_NAME

Topic = AlterReplicaLogDirsResponse.Topic
Answer = AlterReplicaLogDirsResponse.Topic.Partition

ID_LENGTH = 32


def handle(request: AlterReplicaLogDirsRequest, context: Context) -> AlterReplicaLogDirsResponse:
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    may_alter = context.allows_on_cluster(Operation.ALTER)
    topics: dict[str, Topic] = {}
    for (name, index), path in wanted.items():
        topic = topics.setdefault(name, Topic(topic_name=name, partitions=[]))
        code = Code.NONE if may_alter else Code.CLUSTER_AUTHORIZATION_FAILED
        if may_alter:
            try:
                _move(name, index, path, context)
            except KafkaError as error:
                code = error.code
        topic.partitions.append(Answer(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


def _move(name: str, index: int, path: str, context: Context) -> None:
    node = context.node
    directories, key = node.directories, (name, index)
    if len(f"{name}-{index}.{FUTURE}") + ID_LENGTH > MAX_NAME:
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
    if path not in directories.paths:
        raise KafkaError(Code.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config.")
    to = directories.at(path)
    if to is None:
        raise KafkaError(Code.KAFKA_STORAGE_ERROR, f"Log directory {path} is offline")
    if path in directories.cordoned:
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, f"Log directory {path} is cordoned")
    if key in node.offline:
        raise KafkaError(Code.KAFKA_STORAGE_ERROR, f"Partition {name}-{index} is offline")
    partition = node.partitions.get(key)
    if partition is None:
        directories.preferred[key] = path
        if context.metadata.partition(name, index) is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
        raise KafkaError(Code.REPLICA_NOT_AVAILABLE, f"broker {node.node_id} holds no replica of {name}-{index}")
    moving_to = next((directory for moved, directory in node.moving if moved is partition), None)
    if moving_to is not None and moving_to is not to:
        node.moves.cancel(name, index)
        moving_to = None
    _ = partition.log  # opens the log if it was not needed before
    if moving_to is to or directories.holder(name, index) is to:
        return
    if directories.offline:
        offline = ", ".join(directories.offline)
        raise KafkaError(
            Code.KAFKA_STORAGE_ERROR,
            f"Can not create log for {name}-{index} because log directories {offline} are offline",
        )
    node.moves.begin(partition, to)
