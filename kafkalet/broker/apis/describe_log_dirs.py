"""DescribeLogDirs v0-5: the log directory of a broker, and how much of it each partition takes.

v3      an error of the whole request
v4      the size of the volume and what is left of it (KIP-827)

Partitions that are asked for and are not here are left out.

Source: kafka.server.ReplicaManager.describeLogDirs.
"""

import os

from kafkalet.broker.context import Context
from kafkalet.broker.partition import Partition
from kafkalet.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

Directory = DescribeLogDirsResponse.LogDir
Topic = DescribeLogDirsResponse.LogDir.Topic
Answer = DescribeLogDirsResponse.LogDir.Topic.Partition


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
    volume = os.statvfs(node.directory.path)
    directory = Directory(
        log_dir=node.directory.path,
        topics=list(topics.values()),
        total_bytes=volume.f_frsize * volume.f_blocks,
        usable_bytes=volume.f_frsize * volume.f_bavail,
    )
    return DescribeLogDirsResponse(results=[directory])


def _partition(partition: Partition) -> Answer:
    log = partition.log
    return Answer(
        partition_index=partition.index,
        partition_size=log.size_bytes,
        offset_lag=max(log.high_watermark - log.log_end_offset, 0),
        is_future_key=False,
    )
