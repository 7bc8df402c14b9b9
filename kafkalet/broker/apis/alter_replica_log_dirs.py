"""AlterReplicaLogDirs v0-2: move replicas to other log directories of their broker (KIP-113).

In kafkalet, each broker has only one log directory. Any other directory returns LOG_DIR_NOT_FOUND.

Source: kafka.server.ReplicaManager.alterReplicaLogDirs.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse

Topic = AlterReplicaLogDirsResponse.Topic
Answer = AlterReplicaLogDirsResponse.Topic.Partition


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
        code = _code(name, index, path, context) if may_alter else Code.CLUSTER_AUTHORIZATION_FAILED
        topic.partitions.append(Answer(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


def _code(name: str, index: int, path: str, context: Context) -> Code:
    if path not in context.node.directories.paths:
        return Code.LOG_DIR_NOT_FOUND
    if (name, index) in context.node.partitions:
        return Code.NONE
    if context.metadata.partition(name, index) is not None:
        return Code.REPLICA_NOT_AVAILABLE
    return Code.UNKNOWN_TOPIC_OR_PARTITION
