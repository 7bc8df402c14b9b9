"""The options of the pipeline. The row of an option defines its parsing, its flag, its --help and its documentation.

    READ      options of `spark.read.format("kafkalog")`; flags of `dump`
    FOLLOW    additional options of `spark.readStream`
    WRITE     options of `df.write.format("kafkalog")`; flags of `load`
    AUDIT     flags of `audit`

Options of READ and FOLLOW that Spark's Kafka source also has (KafkaSourceProvider) have the same names and meaning;
spark/tests/spark/test_spark_parity.py runs them on both. The tables in docs/pipeline.md are
generated from these rows.
"""

from __future__ import annotations

from kafkalet.protocol.records.codecs import Codec

from .option_types import (
    INT32,
    Option,
    boolean,
    delay_ms,
    java_number,
    one_of,
    positive_size,
    share,
    size_within,
    span_ms,
    whole_number,
)

POSITIVE = java_number(positive=True)
MILLISECONDS = java_number(strip=True)
WRITTEN_BOOLEAN = boolean(allowed="one of true, false")
_WITHOUT_EFFECT = "accepted; has no effect"

READ = (
    Option("subscribe", "TOPIC,...", "topics to read, separated by commas"),
    Option(
        "subscribePattern",
        "PATTERN",
        "read topics whose name contains a match of this Java regular expression",
        "`^a$` matches only the topic `a`. Internal topics never match",
    ),
    Option(
        "assign",
        "JSON",
        'partitions to read: `{"topic":[0,1]}`',
        "Partitions that do not exist are ignored. Without any of these three options, all topics of a directory are "
        "read except internal ones; a broker requires one of them",
    ),
    Option(
        "startingOffsets",
        "WHERE",
        'first offset: `earliest`, or JSON: `{"topic":{"0":23,"1":-2}}`, where -2 is earliest',
        "JSON must name every partition. `latest` (-1) is only for streams, where it is the default",
        default="earliest",
    ),
    Option(
        "startingTimestamp",
        "MS",
        "start at the first record at or after this time",
        "This option takes precedence over timestamps by partition, and those over offsets",
        parse=MILLISECONDS,
    ),
    Option("startingOffsetsByTimestamp", "JSON", 'the same for each partition: `{"topic":{"0":1357016400000}}`'),
    Option(
        "startingOffsetsByTimestampStrategy",
        "WHAT",
        "what to do if no record is at or after the starting timestamp: `error` or `latest`",
        parse=one_of("error", "latest"),
        default="error",
    ),
    Option(
        "endingOffsets",
        "WHERE",
        "end offset, exclusive: `latest`, or JSON as above, where -1 is latest",
        "The options for the end are not available for streams",
        default="latest",
    ),
    Option("endingTimestamp", "MS", "end before the first record at or after this time", parse=MILLISECONDS),
    Option("endingOffsetsByTimestamp", "JSON", "the same for each partition"),
    Option(
        "isolationLevel",
        "LEVEL",
        "`read_uncommitted`, or `read_committed`, which hides records of aborted and open transactions",
        "`kafka.isolation.level` is an alias",
        parse=one_of("read_uncommitted", "read_committed"),
        default="read_uncommitted",
    ),
    Option(
        "upTo",
        "END",
        "end of a log in a directory: `logEnd` (its last batch) or `highWatermark`",
        "A running broker saves the high watermark every few seconds",
        parse=one_of("logEnd", "highWatermark"),
        default="logEnd",
    ),
    Option(
        "maxBytesPerTask",
        "SIZE",
        "target size of a split",
        "Splits begin at entries of the offset index",
        parse=positive_size,
        default="128m",
    ),
    Option(
        "minPartitions",
        "N",
        "minimum number of splits",
        "For a broker the number is approximate, as in Spark",
        parse=java_number(INT32, positive=True),
    ),
    Option("maxRecordsPerPartition", "N", "maximum number of offsets in a split", parse=POSITIVE),
    Option("includeHeaders", "BOOL", "include the headers of records", parse=boolean(), default="true"),
    Option("includeBatch", "BOOL", "include the columns of the batch", parse=boolean(), default="false"),
    Option(
        "includeControl",
        "BOOL",
        "include transaction markers",
        "They are rows in which `control` is true",
        parse=boolean(),
        default="false",
    ),
    Option(
        "pushFilters",
        "BOOL",
        "use filters on topic, partition, offset and timestamp to skip segments",
        "Only for a DataFrame that serves a single query; see "
        "[decision 7](decisions/0007-the-pipeline-reads-logs-by-itself.md#filters-are-pushed-down-only-on-request)",
        parse=boolean(),
        default="false",
        flag=False,
    ),
    Option(
        "mode",
        "MODE",
        "what to do with bad input: `FAILFAST`, `DROPMALFORMED`, or `PERMISSIVE` (not for a dump)",
        "See [bad input](#bad-input)",
        parse=one_of("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        default="FAILFAST",
    ),
    Option("badRecordsPath", "DIR", "directory for reports of what `DROPMALFORMED` dropped"),
    Option(
        "failOnDataLoss",
        "BOOL",
        "fail if offsets are missing: deleted, or not written yet",
        "With `false` the remaining records are read",
        parse=boolean(),
        default="true",
    ),
    Option("groupIdPrefix", "TEXT", _WITHOUT_EFFECT, flag=False),
    Option("kafkaConsumer.pollTimeoutMs", "MS", _WITHOUT_EFFECT, parse=java_number(), flag=False),
    Option("fetchOffset.numRetries", "N", _WITHOUT_EFFECT, parse=java_number(), flag=False),
    Option("fetchOffset.retryIntervalMs", "MS", _WITHOUT_EFFECT, parse=java_number(), flag=False),
)

FOLLOW = (
    Option(
        "maxOffsetsPerTrigger",
        "N",
        "approximate number of offsets in a batch, distributed in proportion to the unread offsets of each partition",
        "A share of less than one offset is rounded up, so that no partition starves; other shares are rounded down",
        parse=POSITIVE,
        flag=False,
    ),
    Option(
        "minOffsetsPerTrigger",
        "N",
        "minimum number of offsets for which a batch waits",
        parse=java_number(),
        flag=False,
    ),
    Option(
        "maxTriggerDelay",
        "TIME",
        "maximum time that a batch waits for them",
        "The first batch does not wait",
        parse=delay_ms,
        default="15m",
        flag=False,
    ),
)

WRITE = (
    Option("path", "DIR", "the log directory, which `save(DIR)` sets", flag=False),
    Option("topic", "TOPIC", "the topic of all records; overrides the column `topic`"),
    Option(
        "includeHeaders",
        "BOOL",
        _WITHOUT_EFFECT,
        "The column `headers` is written if it exists, as by Spark's sink",
        parse=WRITTEN_BOOLEAN,
        default="true",
        flag=False,
    ),
    Option("partitions", "N", 'number of partitions of a new topic (1), or JSON by topic: `{"orders":12}`'),
    Option(
        "partitionBy",
        "HOW",
        "`murmur2` hash of the key, as Java clients do, or `column`: the column `partition`",
        "The default is `column` if that column exists",
        parse=one_of("murmur2", "column"),
    ),
    Option("batchSize", "SIZE", "size of a batch before compression", parse=size_within(61), default="16384"),
    Option("batchRecords", "N", "maximum number of records in a batch", parse=whole_number(1)),
    Option(
        "compression",
        "CODEC",
        "`none`, `gzip`, `snappy`, `lz4` or `zstd`",
        parse=one_of(*(codec.name.lower() for codec in Codec)),
        default="none",
    ),
    Option("compressionLevel", "N", "compression level (the codec's default)", parse=whole_number()),
    Option(
        "timestampType",
        "TYPE",
        "`CreateTime`, or `LogAppendTime`: all records of a batch have its largest timestamp",
        parse=one_of("CreateTime", "LogAppendTime"),
        default="CreateTime",
    ),
    Option("segmentBytes", "SIZE", "the topic's segment.bytes", parse=size_within(1024, (1 << 31) - 1), default="1g"),
    Option("segmentMs", "TIME", "the topic's segment.ms", parse=span_ms, default="7d"),
    Option("indexIntervalBytes", "SIZE", "the topic's index.interval.bytes", parse=size_within(0), default="4096"),
    Option("leaderEpoch", "N", "leader epoch of the batches (the last one in the log, or 0)", parse=whole_number(0)),
    Option("durable", "BOOL", "flush files to disk before the job succeeds", parse=WRITTEN_BOOLEAN, default="true"),
    Option(
        "transactionalShare",
        "SHARE",
        "share of the batches, 0 to 1, that belong to transactions",
        parse=share,
        default="0",
    ),
    Option("abortedShare", "SHARE", "share of the transactions that are aborted", parse=share, default="0"),
    Option(
        "openTransactions",
        "N",
        "number of transactions in each partition that never end",
        parse=whole_number(0),
        default="0",
    ),
    Option(
        "openShare",
        "SHARE",
        "share of the transactions in progress at the end of a partition that do not end",
        parse=share,
        default="0",
    ),
    Option("transactionSize", "N", "number of records in a transaction", parse=whole_number(1), default="100"),
    Option(
        "producers",
        "N",
        "number of idempotent producers, which alternate by batch; each has its own id and sequence",
        parse=whole_number(0),
        default="0",
    ),
    Option("producerId", "N", "id of the first producer", parse=whole_number(0)),
    Option("seed", "N", "random seed", parse=whole_number(0), default="0"),
)

AUDIT = (
    Option(
        "out",
        "OUT",
        "directory for `facts.parquet` (a table of all facts about the logs), `verdict.json` and `report.txt`",
    ),
    Option("topic", "TOPIC", "audit only this topic; repeatable", repeatable=True),
    Option(
        "bootstrap",
        "HOST:PORT,...",
        "a running broker of these logs to compare with",
        "Required if a broker is using the directory",
    ),
    Option("option", "K=V", "`kafka.*` option of the connection to that broker; repeatable", repeatable=True),
    Option(
        "timestamps",
        "N",
        "number of timestamps to look up for each partition and isolation level",
        parse=int,
        default="2000",
    ),
    Option("seed", "N", "random seed for those timestamps", parse=int, default="0"),
    Option(
        "compacted",
        "TOPIC",
        "treat missing offsets of this topic below its last segment as compacted; repeatable",
        "Not needed if `cleaner-offset-checkpoint` has the offset of the log cleaner",
        repeatable=True,
    ),
    Option(
        "max-bytes-per-task",
        "BYTES",
        "divide larger segments between several tasks",
        parse=int,
        default=str(256 << 20),
    ),
    Option(
        "producer-id-expiration-ms",
        "MS",
        "producer.id.expiration.ms of the broker",
        parse=int,
        default=str(24 * 60 * 60 * 1000),
    ),
)
AUDIT_DEFAULTS = {option.name: option.default_value for option in AUDIT}
