"""The tests, grouped by what they need to run; below that, the directories mirror the source.

unit       no sockets, no JVM; `unit/<room>/test_<module>.py` tests `kafkalet/<room>/<module>.py`
wire       raw clients talk to a broker over sockets; mirrors the source too; `behavior` also runs against Kafka
recorded   replays recorded responses of Apache Kafka
clients    real client libraries
rules      checks of the source, the documentation and the examples
fuzz       malformed requests and damaged log directories
oracle     comparisons with a running Apache Kafka

The tests of kafkalet_spark are in spark/tests.
"""
