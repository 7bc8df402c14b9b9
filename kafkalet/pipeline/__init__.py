"""Logs at any size, through Spark: filled, read, dumped and audited without a broker, or read from a live one.

    session.py     a Spark session that knows the format `kafkalog`, or why there is none
    source.py      the format: spark.read, df.write; stream.py: spark.readStream; tasks.py, reader.py: what tasks do
    options.py     what a reader is asked for; columns.py: what it gives; filters.py, positions.py: from where to where
    origin.py      what is asked of directories (directory_origin.py) and of brokers (broker_origin.py) alike
    decoding/      bytes of a log to columns: batches, records, whole chunks at a time
    logs/          what lies in a log directory: segments, indexes, checkpoints; where to split it
    live/          the same questions to a running broker
    writing/       columns to logs: batches, segments, indexes, and how they become visible at once
    dumping/       topics to Parquet or JSON Lines, again and again
    audit/         what the bytes say, beside what the files and a live broker say
    jobs.py        the command line of load, dump and audit (commands/); plan.py: what they would do; progress.py: how
                   far they are; submit.py: the main file for spark-submit

Needs the extra `spark`, and Java 17 or newer, which is what Spark itself needs.
"""
