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
    as_text,
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
    Option("subscribe", "TOPIC,...", as_text, None, "these topics, separated by commas"),
    Option(
        "subscribePattern",
        "PATTERN",
        as_text,
        None,
        "topics in whose name the pattern is found, in the syntax of Java",
        "`^a$` is the topic `a` alone. Never topics that are internal to Kafka",
    ),
    Option(
        "assign",
        "JSON",
        as_text,
        None,
        'these partitions: `{"topic":[0,1]}`',
        "Those that do not exist are left out. With none of these three options, a directory gives all topics that are "
        "not internal to Kafka; a broker needs one of them",
    ),
    Option(
        "startingOffsets",
        "WHERE",
        as_text,
        "earliest",
        'where reading starts: `earliest`, or JSON: `{"topic":{"0":23,"1":-2}}`, where -2 is earliest',
        "By partition, it has to name every partition. `latest` (-1) only for a stream, where it is the default",
    ),
    Option(
        "startingTimestamp",
        "MS",
        MILLISECONDS,
        None,
        "from the first record at or after this time",
        "Timestamps win over timestamps by partition, and these over offsets",
    ),
    Option(
        "startingOffsetsByTimestamp", "JSON", as_text, None, 'the same by partition: `{"topic":{"0":1357016400000}}`'
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        "WHAT",
        one_of("error", "latest"),
        "error",
        "if no record is at or after the starting timestamp: `error` or `latest`",
    ),
    Option(
        "endingOffsets",
        "WHERE",
        as_text,
        "latest",
        "where reading ends, exclusive: `latest`, or JSON as above, where -1 is latest",
        "Not for a stream, as the other ends",
    ),
    Option("endingTimestamp", "MS", MILLISECONDS, None, "to the first record at or after this time, exclusive"),
    Option("endingOffsetsByTimestamp", "JSON", as_text, None, "the same by partition"),
    Option(
        "isolationLevel",
        "LEVEL",
        one_of("read_uncommitted", "read_committed"),
        "read_uncommitted",
        "`read_uncommitted`, or `read_committed`, which hides records of aborted and open transactions",
        "Also as `kafka.isolation.level`",
    ),
    Option(
        "upTo",
        "END",
        one_of("logEnd", "highWatermark"),
        "logEnd",
        "where the log of a directory ends: `logEnd`, at its last batch, or `highWatermark`",
        "A running broker writes the high watermark down every few seconds",
    ),
    Option(
        "maxBytesPerTask",
        "SIZE",
        positive_size,
        "128m",
        "the size of a split",
        "Splits begin at entries of the offset index",
    ),
    Option(
        "minPartitions",
        "N",
        java_number(INT32, positive=True),
        None,
        "at least so many splits",
        "Of a broker: about as many, as in Spark",
    ),
    Option("maxRecordsPerPartition", "N", POSITIVE, None, "at most so many offsets in a split"),
    Option("includeHeaders", "BOOL", boolean(), "true", "with the headers of records"),
    Option("includeBatch", "BOOL", boolean(), "false", "with the columns of the batch"),
    Option(
        "includeControl",
        "BOOL",
        boolean(),
        "false",
        "with the markers of transactions",
        "They are rows with `control` true",
    ),
    Option(
        "pushFilters",
        "BOOL",
        boolean(),
        "false",
        "conditions on topic, partition, offset and timestamp narrow which segments are read, by their indexes",
        "Only for a DataFrame of which one query is made: "
        "[decision 7](decisions/0007-the-pipeline-reads-logs-by-itself.md) says why",
        flag=False,
    ),
    Option(
        "mode",
        "MODE",
        one_of("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        "FAILFAST",
        "what to do with what cannot be read: `FAILFAST`, `DROPMALFORMED`, or `PERMISSIVE`, which is not for a dump",
        "See [bad input](#bad-input)",
    ),
    Option("badRecordsPath", "DIR", as_text, None, "where `DROPMALFORMED` says what it dropped"),
    Option(
        "failOnDataLoss",
        "BOOL",
        boolean(),
        "true",
        "whether offsets that are gone, or not there yet, are an error",
        "With `false` the rest is read",
    ),
    Option("groupIdPrefix", "TEXT", as_text, None, _WITHOUT_EFFECT, flag=False),
    Option("kafkaConsumer.pollTimeoutMs", "MS", java_number(), None, _WITHOUT_EFFECT, flag=False),
    Option("fetchOffset.numRetries", "N", java_number(), None, _WITHOUT_EFFECT, flag=False),
    Option("fetchOffset.retryIntervalMs", "MS", java_number(), None, _WITHOUT_EFFECT, flag=False),
)

FOLLOW = (
    Option(
        "maxOffsetsPerTrigger",
        "N",
        POSITIVE,
        None,
        "about so many offsets in a batch, shared out in proportion to what each partition has unread",
        "A share of less than one offset is rounded up, so that no partition starves, and other shares down",
        flag=False,
    ),
    Option("minOffsetsPerTrigger", "N", java_number(), None, "a batch waits for so many offsets", flag=False),
    Option(
        "maxTriggerDelay",
        "TIME",
        delay_ms,
        "15m",
        "a batch does not wait for them longer than that",
        "The first one does not wait",
        flag=False,
    ),
)

WRITE = (
    Option("path", "DIR", as_text, None, "the log directory, as `save(DIR)` gives it", flag=False),
    Option("topic", "TOPIC", as_text, None, "the topic of all records, whatever the column `topic` says"),
    Option(
        "includeHeaders",
        "BOOL",
        WRITTEN_BOOLEAN,
        "true",
        _WITHOUT_EFFECT,
        "The column `headers` is written if there is one, as by Spark's sink",
        flag=False,
    ),
    Option("partitions", "N", as_text, None, 'of a topic that is new: a number (1), or by topic: `{"orders":12}`'),
    Option(
        "partitionBy",
        "HOW",
        one_of("murmur2", "column"),
        None,
        "`murmur2` of the key, as Java clients place it, or `column`: by the column `partition`",
        "`column` is the default where there is such a column",
    ),
    Option("batchSize", "SIZE", size_within(61), "16384", "bytes of a batch before it is compressed"),
    Option("batchRecords", "N", whole_number(1), None, "records of a batch, at most"),
    Option(
        "compression",
        "CODEC",
        one_of(*(codec.name.lower() for codec in Codec)),
        "none",
        "`none`, `gzip`, `snappy`, `lz4` or `zstd`",
    ),
    Option("compressionLevel", "N", whole_number(), None, "the codec's own"),
    Option(
        "timestampType",
        "TYPE",
        one_of("CreateTime", "LogAppendTime"),
        "CreateTime",
        "`CreateTime`, or `LogAppendTime`: each batch has one time, the largest of its records",
    ),
    Option("segmentBytes", "SIZE", size_within(1024, (1 << 31) - 1), "1g", "the topic's segment.bytes"),
    Option("segmentMs", "TIME", span_ms, "7d", "the topic's segment.ms"),
    Option("indexIntervalBytes", "SIZE", size_within(0), "4096", "the topic's index.interval.bytes"),
    Option("leaderEpoch", "N", whole_number(0), None, "0, or the one that the log has come to"),
    Option("durable", "BOOL", WRITTEN_BOOLEAN, "true", "forced to the disk before it counts"),
    Option("transactionalShare", "SHARE", share, "0", "this share of the batches, 0 to 1, belongs to transactions"),
    Option("abortedShare", "SHARE", share, "0", "this share of the transactions is aborted"),
    Option("openTransactions", "N", whole_number(0), "0", "so many are never ended, in each partition"),
    Option(
        "openShare",
        "SHARE",
        share,
        "0",
        "this share of the transactions that are under way at the end of a partition is not ended either",
    ),
    Option("transactionSize", "N", whole_number(1), "100", "records after which a transaction ends"),
    Option(
        "producers",
        "N",
        whole_number(0),
        "0",
        "idempotent producers that take turns, batch by batch, each with its id and sequence",
    ),
    Option("producerId", "N", whole_number(0), None, "the first producer's id"),
    Option("seed", "N", whole_number(0), "0", "what all chance comes from"),
)

AUDIT = (
    Option(
        "out",
        "OUT",
        as_text,
        None,
        "the folder of `facts.parquet`, `verdict.json` and `report.html`, one file with its plots in it",
    ),
    Option("topic", "TOPIC", as_text, None, "only this topic; repeatable", repeatable=True),
    Option(
        "bootstrap",
        "HOST:PORT,...",
        as_text,
        None,
        "a live broker of these logs, to be compared with",
        "A directory whose broker is at work can only be audited with it named",
    ),
    Option("option", "K=V", as_text, None, "`kafka.*`: of the connection to that broker; repeatable", repeatable=True),
    Option(
        "timestamps",
        "N",
        int,
        "2000",
        "how many timestamps of each partition it is asked for, under either isolation level",
    ),
    Option("seed", "N", int, "0", "what chooses those timestamps"),
    Option(
        "compacted",
        "TOPIC",
        as_text,
        None,
        "missing offsets of this topic were compacted away; repeatable",
        "Not needed where the batches or `cleaner-offset-checkpoint` show that a cleaner was there",
        repeatable=True,
    ),
    Option("max-bytes-per-task", "BYTES", int, str(256 << 20), "a segment that is larger is audited by several tasks"),
    Option("heaviest-keys", "N", int, "20", "how many keys are named"),
    Option("producer-id-expiration-ms", "MS", int, str(24 * 60 * 60 * 1000), "the broker's producer.id.expiration.ms"),
)
AUDIT_DEFAULTS = {option.name: option.default_value for option in AUDIT}
