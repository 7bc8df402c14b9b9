"""Write columns as logs: batches, segments and indexes, made visible in one commit.

write_options.py       parses the options of the sink
rows.py                checks and normalizes the input columns, which are those of Spark's Kafka sink
placement.py           assigns keys to partitions
cutting.py             groups records into batches
encode.py              encodes the records of many batches
batch_headers.py       builds batch headers with their checksums
transaction_shape.py   generates producers, transactions and markers from a seed
segments.py            writes .log files and their indexes
task.py                writes the output of one task: fragments of partitions
staging.py             manages the staging directory, which holds output that is not committed yet
commit.py              makes a load visible atomically
writer.py              implements the sink for `df.write.format("kafkalog")`
load.py                runs the Spark job around the sink: assigns partitions, repartitions and sorts
"""
