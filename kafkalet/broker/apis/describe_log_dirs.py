"""DescribeLogDirs v0-5: the log directory of a broker, and how much of it each partition takes.

v3      an error of the whole request
v4      the size of the volume and what is left of it (KIP-827)

Partitions that are asked for and are not here are left out.

Source: kafka.server.ReplicaManager.describeLogDirs.
"""

from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

Directory = DescribeLogDirsResponse.LogDir
Topic = DescribeLogDirsResponse.LogDir.Topic
Answer = DescribeLogDirsResponse.LogDir.Topic.Partition

UNKNOWN = -1


def handle(request: DescribeLogDirsRequest, context: Context) -> DescribeLogDirsResponse:
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
    """The size of the volume of `path` and what is left of it, in bytes; UNKNOWN if the system cannot tell."""
    import shutil

    try:
        usage = shutil.disk_usage(path)
    except (OSError, AttributeError):  # some systems have no such call
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
