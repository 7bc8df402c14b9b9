"""What old fetch versions get instead of format 2: down-conversion, as Kafka did it up to 3.9.

    v0, v1    format 0: no timestamps
    v2, v3    format 1
    v4-v9     no zstd from a topic whose compression.type says so (3.9 and older)

The rules look at the topic's configuration and not at what was found, so they hold for empty and erring answers too.

Source: kafka.server.KafkaApis.handleFetchRequest (maybeConvertFetchedData), LazyDownConversionRecords.
"""

from typing import cast

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.wire import Buffer
from kafkalet.storage.config import LogConfig
from kafkalet.storage.files import FileRange

Answer = FetchResponse.Topic.Partition

UNKNOWN = -1
ZSTD_SINCE = 10


def refused(index: int, code: Code, records: bytes | None = b"") -> Answer:
    """The answer for a partition that is not read (FetchResponse.partitionResponse)."""
    return Answer(
        partition_index=index,
        error_code=code,
        high_watermark=UNKNOWN,
        last_stable_offset=UNKNOWN,
        log_start_offset=UNKNOWN,
        aborted_transactions=[],
        records=records,
    )


def convert(answer: Answer, topic: str, fetch_offset: int, context: Context, *, from_follower: bool) -> Answer:
    """The answer in what the version of the request can read."""
    partition = context.node.partitions.get((topic, answer.partition_index))
    if partition is None:
        return answer
    version, config = context.version, partition.log.config
    if (
        version < ZSTD_SINCE
        and config.compression_type == "zstd"
        and context.release.refuses_zstd_topics_to_old_fetches
    ):
        return refused(answer.partition_index, Code.UNSUPPORTED_COMPRESSION_TYPE, None)
    to_format = _format_for(version, config)
    if to_format is None:
        return answer
    if not config.message_downconversion_enable and not from_follower:
        return refused(answer.partition_index, Code.UNSUPPORTED_VERSION, None)
    return _down(answer, to_format, fetch_offset)


def _format_for(version: int, config: LogConfig) -> int | None:
    """The format to convert to, None where the topic's own can be read."""
    if version <= 1 and config.record_version > 0:
        return 0
    if version <= 3 and config.record_version > 1:
        return 1
    return None


def _down(answer: Answer, to_format: int, fetch_offset: int) -> Answer:
    from kafkalet.protocol.records.convert import down_converted

    records = answer.records
    if records is None or not len(records):
        return answer
    data = records.read() if isinstance(records, FileRange) else bytes(cast(Buffer, records))
    try:
        answer.records = down_converted(data, to_format, fetch_offset)
    except KafkaError as error:
        return refused(answer.partition_index, error.code, None)
    return answer
