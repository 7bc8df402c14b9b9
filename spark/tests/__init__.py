"""The tests of kafkalet_spark, grouped as those of kafkalet are: by what they need to run.

unit       no sockets, no JVM
wire       a client reads from a broker over sockets
spark      a Spark session
oracle     comparisons with a running Apache Kafka

Below that, the directories mirror the source. `make test-all` runs them; they use modules of `tests`.
"""
