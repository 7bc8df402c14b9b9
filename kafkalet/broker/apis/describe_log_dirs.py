"""DescribeLogDirs v0-5: describe the log directory of a broker and the size of each partition in it (KIP-113).

v3  adds a top-level error code (KIP-784)
v4  adds the total and usable size of the volume (KIP-827)

Requested partitions that have no replica on this broker are left out.

Source: kafka.server.ReplicaManager.describeLogDirs.
"""

from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

Directory = DescribeLogDirsResponse.LogDir
Topic = DescribeLogDirsResponse.LogDir.Topic
Answer = DescribeLogDirsResponse.LogDir.Topic.Partition

UNKNOWN = -1


def handle(request: DescribeLogDirsRequest, context: Context) -> DescribeLogDirsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=Code.CLUSTER_AUTHORIZATION_FAILED, results=[])
    node = context.node
    asked = None
    if request.topics is not None:
        asked = {(topic.topic, partition) for topic in request.topics for partition in topic.partitions}
    topics: dict[str, Topic] = {}
    for (name, index), partition in node.partitions.items():
        if asked is None or (name, index) in asked:
            topic = topics.setdefault(name, Topic(name=name, partitions=[]))
            topic.partitions.append(_partition(partition))
    total_bytes, usable_bytes = _volume(node.directory.path)
    directory = Directory(
        log_dir=node.directory.path,
        topics=list(topics.values()),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
    return DescribeLogDirsResponse(results=[directory])


def _volume(path: str) -> tuple[int, int]:
    """Return the total and free bytes of the volume that contains `path`, or UNKNOWN for both."""
    import shutil

    try:
        usage = shutil.disk_usage(path)
    except (OSError, AttributeError):  # disk_usage is missing on some platforms
        return UNKNOWN, UNKNOWN
    return usage.total, usage.free


def _partition(partition: Partition) -> Answer:
    log = partition.log
    return Answer(
        partition_index=partition.index,
        partition_size=log.size_bytes,
        offset_lag=max(log.high_watermark - log.log_end_offset, 0),
        is_future_key=False,
    )
