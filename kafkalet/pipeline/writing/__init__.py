"""Write columns as logs: batches, segments and indexes, made visible in one commit.

write_options.py       the options of the sink
rows.py                checks and normalizes the columns of Spark's Kafka sink
placement.py           assigns keys to partitions
cutting.py             groups records into batches
encode.py              encodes the records of many batches
batch_headers.py       batch headers and their checksums
transaction_shape.py   producers, transactions and markers, generated from a seed
segments.py            .log files and their indexes
task.py                the output of one task: fragments of partitions
staging.py             the staging directory for output that is not committed
commit.py              makes a load visible atomically
writer.py              the sink of `df.write.format("kafkalog")`
load.py                the Spark job around it: assigns partitions, repartitions and sorts
"""
