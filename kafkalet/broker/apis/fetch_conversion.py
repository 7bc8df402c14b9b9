"""Down-conversion of records for old Fetch versions, as in Kafka up to 3.9.

    v0, v1    convert to message format 0, which has no timestamps
    v2, v3    convert to message format 1
    v4-v9     refuse topics with compression.type=zstd (Kafka 3.9 and older)

The rules depend on the topic's configuration, not on its records, so they also apply to empty and failed reads.

Source: kafka.server.KafkaApis.handleFetchRequest (maybeConvertFetchedData), LazyDownConversionRecords.
"""

from functools import partial
from typing import cast

from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.convert import down_converted
from kafkalet.protocol.records.effort import batch_takes_long
from kafkalet.protocol.wire import Buffer
from kafkalet.storage.config import LogConfig
from kafkalet.storage.files import FileRange
from kafkalet.tasks.task import in_thread, pause

Answer = FetchResponse.Topic.Partition

UNKNOWN = -1
ZSTD_SINCE = 10
READ_BYTES = 4 * 1024 * 1024
"""The number of bytes to read from a file before pausing for other requests."""
CONVERTED_IN_LOOP_BYTES = 64 * 1024
"""The largest number of bytes to convert in the event loop. More bytes are converted in a thread."""


def refused(index: int, code: Code, records: bytes | None = b"", *, knows_aborted: bool = True) -> Answer:
    """Build the response for a partition that is not read (FetchResponse.partitionResponse).

    The list of aborted transactions is empty with `knows_aborted`, and null without it.
    """
    return Answer(
        partition_index=index,
        error_code=code,
        high_watermark=UNKNOWN,
        last_stable_offset=UNKNOWN,
        log_start_offset=UNKNOWN,
        aborted_transactions=[] if knows_aborted else None,
        records=records,
    )


async def convert(answer: Answer, topic: str, fetch_offset: int, context: Context, *, from_follower: bool) -> Answer:
    """Convert the records of a partition to a message format that the request version supports."""
    partition = context.node.partitions.get((topic, answer.partition_index))
    if partition is None:
        return answer
    version, config, release = context.version, partition.log.config, context.release
    if version < ZSTD_SINCE and config.compression_type == "zstd" and release.refuses_zstd_topics_to_old_fetches:
        return _not_converted(answer, Code.UNSUPPORTED_COMPRESSION_TYPE, release)
    to_format = _format_for(version, config)
    if to_format is None:
        return answer
    try:
        data = await _bytes(answer)
    except OSError:  # already reported
        return refused(answer.partition_index, Code.KAFKA_STORAGE_ERROR, knows_aborted=False)
    if release.converts_newer_formats_only and all(batch.magic <= to_format for batch in batches(data)):
        return answer
    if not config.message_downconversion_enable and not from_follower:
        return _not_converted(answer, Code.UNSUPPORTED_VERSION, release)
    if data:
        try:
            if len(data) > CONVERTED_IN_LOOP_BYTES or any(batch_takes_long(batch) for batch in batches(data)):
                answer.records = await in_thread(lambda: down_converted(data, to_format, fetch_offset), droppable=True)
            else:
                answer.records = down_converted(data, to_format, fetch_offset)
        except KafkaError as error:
            if error.code in (Code.CORRUPT_MESSAGE, Code.INVALID_RECORD):
                partition.log.report_damage(f"cannot convert records from offset {fetch_offset} on", error)
            return _not_converted(answer, error.code, release)
    return answer


def _not_converted(answer: Answer, code: Code, release: Release) -> Answer:
    if not release.converts_newer_formats_only:
        return refused(answer.partition_index, code, None)
    refusal = refused(answer.partition_index, code)
    refusal.aborted_transactions = None
    return refusal


async def _bytes(answer: Answer) -> bytes:
    records = answer.records
    if not isinstance(records, FileRange):
        return b"" if records is None else bytes(cast(Buffer, records))
    pieces = [records.slice(0, READ_BYTES).read()]
    for start in range(READ_BYTES, len(records), READ_BYTES):
        await pause()
        pieces.append(records.slice(start, READ_BYTES).read())
    if len(pieces) == 1:
        return pieces[0]
    return await in_thread(partial(b"".join, pieces), droppable=True)


def _format_for(version: int, config: LogConfig) -> int | None:
    """Return the message format to convert to, or None if the client can read the topic's format."""
    if version <= 1 and config.record_version > 0:
        return 0
    if version <= 3 and config.record_version > 1:
        return 1
    return None
