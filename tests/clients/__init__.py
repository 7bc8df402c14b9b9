"""Tests with real client libraries.

`drivers/` wraps kafka-python, confluent-kafka (librdkafka) and aiokafka in a common interface, so that each test is
written once and runs with all three; features of a single client are tested in separate files. `test_steps.py` is a
scenario for all three clients that also runs against Apache Kafka (`make oracle`). `raw.py` is a client that sends
requests a real client would not send. The clients for Java, Go, Node and kcat are in separate directories and run with
`make clients`.
"""
