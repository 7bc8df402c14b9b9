"""Load, read, dump and audit Kafka logs of any size with Spark, from log directories or from a live broker.

    session.py     Spark sessions that have the `kafkalog` format registered; requirements.py: what Spark requires
    source.py      the format: spark.read, df.write; stream.py: spark.readStream; tasks.py, reader.py: code run in tasks
    options.py     the options of a reader; columns.py: its columns; filters.py, positions.py: the offset ranges to read
    origin.py      the interface of log directories (directory_origin.py) and brokers (broker_origin.py)
    decoding/      decode log bytes into columns: batches, records, whole chunks at a time
    logs/          the files of a log directory: segments, indexes, checkpoints; how to split a log for tasks
    live/          a Kafka client that reads from a running broker
    writing/       write columns as logs: batches, segments, indexes, and an atomic commit
    dumping/       incremental dumps of topics to Parquet or JSON Lines
    audit/         verify logs against their batches, their other files and a live broker
    jobs.py        the command line of load, dump and audit (commands/); plan.py: --dry-run; progress.py: progress
                   reports; submit.py: the main file for spark-submit

Like Spark itself, it requires Java 17 or newer.
"""
