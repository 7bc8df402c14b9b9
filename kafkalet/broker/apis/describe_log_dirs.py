"""DescribeLogDirs v0-5: describe the log directories of a broker and the size of each partition in them (KIP-113).

v3  adds a top-level error code (KIP-784)
v4  adds the total and usable size of the volume (KIP-827)
v5  adds whether the directory is cordoned (KIP-1066)

Requested partitions that have no replica on this broker are left out. A directory that is offline has the error
KAFKA_STORAGE_ERROR and no partitions. While a replica is moved to another directory, its copy there has
`is_future_key`, and `offset_lag` is the number of offsets that the copy lacks.

Source: kafka.server.ReplicaManager.describeLogDirs.
"""

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafkalet.storage.directory import LogDirectory
from kafkalet.tasks.task import pause

Directory = DescribeLogDirsResponse.LogDir
Topic = DescribeLogDirsResponse.LogDir.Topic
Answer = DescribeLogDirsResponse.LogDir.Topic.Partition

UNKNOWN = -1


PER_TURN = 50
"""The handler yields to other requests after it has opened this many logs."""


async def handle(request: DescribeLogDirsRequest, context: Context) -> DescribeLogDirsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=Code.CLUSTER_AUTHORIZATION_FAILED, results=[])
    node = context.node
    asked = None
    if request.topics is not None:
        asked = {(topic.topic, partition) for topic in request.topics for partition in topic.partitions}
    wanted = [partition for key, partition in node.partitions.items() if asked is None or key in asked]
    answers = []
    for at in range(0, len(wanted), PER_TURN):
        answers += [_partition(partition, node) for partition in wanted[at : at + PER_TURN]]
        await pause()
    directories = node.directories
    topics: dict[str, dict[str, Topic]] = {path: {} for path in directories.paths}
    for partition, answer in zip(wanted, answers, strict=True):
        directory = directories.place(partition.topic, partition.index)
        if directory is not None:
            here = topics[directory.path]
            here.setdefault(partition.topic, Topic(name=partition.topic, partitions=[])).partitions.append(answer)
    for partition, directory in node.moving:
        if partition in wanted:
            here = topics[directory.path]
            answer = _future(partition, directory)
            here.setdefault(partition.topic, Topic(name=partition.topic, partitions=[])).partitions.append(answer)
    return DescribeLogDirsResponse(
        results=[
            _directory(path, list(topics[path].values()), path in directories.cordoned)
            if path not in directories.offline
            else Directory(error_code=Code.KAFKA_STORAGE_ERROR, log_dir=path, topics=[])
            for path in directories.paths
        ]
    )


def _directory(path: str, topics: list[Topic], is_cordoned: bool) -> Directory:
    total_bytes, usable_bytes = _volume(path)
    return Directory(
        log_dir=path, topics=topics, total_bytes=total_bytes, usable_bytes=usable_bytes, is_cordoned=is_cordoned
    )


def _volume(path: str) -> tuple[int, int]:
    """Return the total and free bytes of the volume that contains `path`, or UNKNOWN for both."""
    import shutil

    try:
        usage = shutil.disk_usage(path)
    except (OSError, AttributeError):  # disk_usage is missing on some platforms
        return UNKNOWN, UNKNOWN
    return usage.total, usage.free


def _future(partition: Partition, directory: LogDirectory) -> Answer:
    copy = directory.futures[partition.topic, partition.index]
    return Answer(
        partition_index=partition.index,
        partition_size=copy.size_bytes,
        offset_lag=partition.log.log_end_offset - copy.log_end_offset,
        is_future_key=True,
    )


def _partition(partition: Partition, node: Node) -> Answer:
    return Answer(
        partition_index=partition.index,
        partition_size=node.size_bytes(partition),
        offset_lag=max(partition.log.high_watermark - partition.log.log_end_offset, 0) if partition.is_open else 0,
        is_future_key=False,
    )
