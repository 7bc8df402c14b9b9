"""The options of the pipeline: one row for each, from which everything else about it follows.

    READ      of `spark.read.format("kafkalog")`, and flags of `dump`
    FOLLOW    of `spark.readStream`, beside those of READ
    WRITE     of `df.write.format("kafkalog")`, and flags of `load`
    AUDIT     of an audit

Options of READ and FOLLOW that Spark's own Kafka source has too (KafkaSourceProvider) have its names and its meaning;
tests/spark/test_spark_parity.py runs them on both. A test holds the tables in docs/pipeline.md to these rows.
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
_WITHOUT_EFFECT = "accepted, without effect"

READ = (
    Option("subscribe", "TOPIC,...", "these topics, separated by commas"),
    Option(
        "subscribePattern",
        "PATTERN",
        "topics in whose name the pattern is found, in the syntax of Java",
        "`^a$` is the topic `a` alone. Never topics that are internal to Kafka",
    ),
    Option(
        "assign",
        "JSON",
        'these partitions: `{"topic":[0,1]}`',
        "Those that do not exist are left out. With none of these three options, a directory gives all topics that are "
        "not internal to Kafka; a broker needs one of them",
    ),
    Option(
        "startingOffsets",
        "WHERE",
        'where reading starts: `earliest`, or JSON: `{"topic":{"0":23,"1":-2}}`, where -2 is earliest',
        "By partition, it has to name every partition. `latest` (-1) only for a stream, where it is the default",
        default="earliest",
    ),
    Option(
        "startingTimestamp",
        "MS",
        "from the first record at or after this time",
        "Timestamps win over timestamps by partition, and these over offsets",
        parse=MILLISECONDS,
    ),
    Option("startingOffsetsByTimestamp", "JSON", 'the same by partition: `{"topic":{"0":1357016400000}}`'),
    Option(
        "startingOffsetsByTimestampStrategy",
        "WHAT",
        "if no record is at or after the starting timestamp: `error` or `latest`",
        parse=one_of("error", "latest"),
        default="error",
    ),
    Option(
        "endingOffsets",
        "WHERE",
        "where reading ends, exclusive: `latest`, or JSON as above, where -1 is latest",
        "Not for a stream, as the other ends",
        default="latest",
    ),
    Option("endingTimestamp", "MS", "to the first record at or after this time, exclusive", parse=MILLISECONDS),
    Option("endingOffsetsByTimestamp", "JSON", "the same by partition"),
    Option(
        "isolationLevel",
        "LEVEL",
        "`read_uncommitted`, or `read_committed`, which hides records of aborted and open transactions",
        "Also as `kafka.isolation.level`",
        parse=one_of("read_uncommitted", "read_committed"),
        default="read_uncommitted",
    ),
    Option(
        "upTo",
        "END",
        "where the log of a directory ends: `logEnd`, at its last batch, or `highWatermark`",
        "A running broker writes the high watermark down every few seconds",
        parse=one_of("logEnd", "highWatermark"),
        default="logEnd",
    ),
    Option(
        "maxBytesPerTask",
        "SIZE",
        "the size of a split",
        "Splits begin at entries of the offset index",
        parse=positive_size,
        default="128m",
    ),
    Option(
        "minPartitions",
        "N",
        "at least so many splits",
        "Of a broker: about as many, as in Spark",
        parse=java_number(INT32, positive=True),
    ),
    Option("maxRecordsPerPartition", "N", "at most so many offsets in a split", parse=POSITIVE),
    Option("includeHeaders", "BOOL", "with the headers of records", parse=boolean(), default="true"),
    Option("includeBatch", "BOOL", "with the columns of the batch", parse=boolean(), default="false"),
    Option(
        "includeControl",
        "BOOL",
        "with the markers of transactions",
        "They are rows with `control` true",
        parse=boolean(),
        default="false",
    ),
    Option(
        "pushFilters",
        "BOOL",
        "conditions on topic, partition, offset and timestamp narrow which segments are read, by their indexes",
        "Only for a DataFrame of which one query is made: "
        "[decision 7](decisions/0007-the-pipeline-reads-logs-by-itself.md) says why",
        parse=boolean(),
        default="false",
        flag=False,
    ),
    Option(
        "mode",
        "MODE",
        "what to do with what cannot be read: `FAILFAST`, `DROPMALFORMED`, or `PERMISSIVE`, which is not for a dump",
        "See [bad input](#bad-input)",
        parse=one_of("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        default="FAILFAST",
    ),
    Option("badRecordsPath", "DIR", "where `DROPMALFORMED` says what it dropped"),
    Option(
        "failOnDataLoss",
        "BOOL",
        "whether offsets that are gone, or not there yet, are an error",
        "With `false` the rest is read",
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
        "about so many offsets in a batch, shared out in proportion to what each partition has unread",
        "A share of less than one offset is rounded up, so that no partition starves, and other shares down",
        parse=POSITIVE,
        flag=False,
    ),
    Option("minOffsetsPerTrigger", "N", "a batch waits for so many offsets", parse=java_number(), flag=False),
    Option(
        "maxTriggerDelay",
        "TIME",
        "a batch does not wait for them longer than that",
        "The first one does not wait",
        parse=delay_ms,
        default="15m",
        flag=False,
    ),
)

WRITE = (
    Option("path", "DIR", "the log directory, as `save(DIR)` gives it", flag=False),
    Option("topic", "TOPIC", "the topic of all records, whatever the column `topic` says"),
    Option(
        "includeHeaders",
        "BOOL",
        _WITHOUT_EFFECT,
        "The column `headers` is written if there is one, as by Spark's sink",
        parse=WRITTEN_BOOLEAN,
        default="true",
        flag=False,
    ),
    Option("partitions", "N", 'of a topic that is new: a number (1), or by topic: `{"orders":12}`'),
    Option(
        "partitionBy",
        "HOW",
        "`murmur2` of the key, as Java clients place it, or `column`: by the column `partition`",
        "`column` is the default where there is such a column",
        parse=one_of("murmur2", "column"),
    ),
    Option("batchSize", "SIZE", "bytes of a batch before it is compressed", parse=size_within(61), default="16384"),
    Option("batchRecords", "N", "records of a batch, at most", parse=whole_number(1)),
    Option(
        "compression",
        "CODEC",
        "`none`, `gzip`, `snappy`, `lz4` or `zstd`",
        parse=one_of(*(codec.name.lower() for codec in Codec)),
        default="none",
    ),
    Option("compressionLevel", "N", "the codec's own", parse=whole_number()),
    Option(
        "timestampType",
        "TYPE",
        "`CreateTime`, or `LogAppendTime`: each batch has one time, the largest of its records",
        parse=one_of("CreateTime", "LogAppendTime"),
        default="CreateTime",
    ),
    Option("segmentBytes", "SIZE", "the topic's segment.bytes", parse=size_within(1024, (1 << 31) - 1), default="1g"),
    Option("segmentMs", "TIME", "the topic's segment.ms", parse=span_ms, default="7d"),
    Option("indexIntervalBytes", "SIZE", "the topic's index.interval.bytes", parse=size_within(0), default="4096"),
    Option("leaderEpoch", "N", "0, or the one that the log has come to", parse=whole_number(0)),
    Option("durable", "BOOL", "forced to the disk before it counts", parse=WRITTEN_BOOLEAN, default="true"),
    Option(
        "transactionalShare",
        "SHARE",
        "this share of the batches, 0 to 1, belongs to transactions",
        parse=share,
        default="0",
    ),
    Option("abortedShare", "SHARE", "this share of the transactions is aborted", parse=share, default="0"),
    Option("openTransactions", "N", "so many are never ended, in each partition", parse=whole_number(0), default="0"),
    Option(
        "openShare",
        "SHARE",
        "this share of the transactions that are under way at the end of a partition is not ended either",
        parse=share,
        default="0",
    ),
    Option("transactionSize", "N", "records after which a transaction ends", parse=whole_number(1), default="100"),
    Option(
        "producers",
        "N",
        "idempotent producers that take turns, batch by batch, each with its id and sequence",
        parse=whole_number(0),
        default="0",
    ),
    Option("producerId", "N", "the first producer's id", parse=whole_number(0)),
    Option("seed", "N", "what all chance comes from", parse=whole_number(0), default="0"),
)

AUDIT = (
    Option(
        "out", "OUT", "the folder of `facts.parquet`, `verdict.json` and `report.html`, one file with its plots in it"
    ),
    Option("topic", "TOPIC", "only this topic; repeatable", repeatable=True),
    Option(
        "bootstrap",
        "HOST:PORT,...",
        "a live broker of these logs, to be compared with",
        "A directory whose broker is at work can only be audited with it named",
    ),
    Option("option", "K=V", "`kafka.*`: of the connection to that broker; repeatable", repeatable=True),
    Option(
        "timestamps",
        "N",
        "how many timestamps of each partition it is asked for, under either isolation level",
        parse=int,
        default="2000",
    ),
    Option("seed", "N", "what chooses those timestamps", parse=int, default="0"),
    Option(
        "compacted",
        "TOPIC",
        "missing offsets of this topic were compacted away; repeatable",
        "Not needed where the batches or `cleaner-offset-checkpoint` show that a cleaner was there",
        repeatable=True,
    ),
    Option(
        "max-bytes-per-task",
        "BYTES",
        "a segment that is larger is audited by several tasks",
        parse=int,
        default=str(256 << 20),
    ),
    Option("heaviest-keys", "N", "how many keys are named", parse=int, default="20"),
    Option(
        "producer-id-expiration-ms",
        "MS",
        "the broker's producer.id.expiration.ms",
        parse=int,
        default=str(24 * 60 * 60 * 1000),
    ),
)
AUDIT_DEFAULTS = {option.name: option.default_value for option in AUDIT}
