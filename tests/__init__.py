"""The tests, sorted by what they need; below that they mirror the source.

unit       no connection over a socket and no JVM; `unit/<room>/test_<module>.py` tests `kafkalet/<room>/<module>.py`
wire       clients of the tests' own ask a broker over sockets; the same mirror, and `behaviour`, which Kafka passes too
recorded   what Apache Kafka answered, replayed
clients    client libraries
spark      the pipeline in a Spark session
rules      the source, the documents and the examples
fuzz       broken requests and directories
oracle     Apache Kafka itself
"""
