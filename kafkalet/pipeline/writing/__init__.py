"""Columns to logs: batches, segments, indexes, and how they become visible at once.

write_options.py       what is written how: the options
rows.py                the columns of Spark's Kafka sink, checked and made alike
placement.py           which partition a key belongs to
cutting.py             which records make a batch
encode.py              records as bytes, many batches at once
batch_headers.py       the fixed part of a batch, and its checksum
transaction_shape.py   producers, transactions and their markers, by seed
segments.py            .log files and their indexes
task.py                what one task writes: fragments of partitions
staging.py             where it lies until it counts
commit.py              how it becomes visible, once and whole
writer.py              the sink of `df.write.format("kafkalog")`
load.py                the job around it: columns chosen, placed, sorted
"""
