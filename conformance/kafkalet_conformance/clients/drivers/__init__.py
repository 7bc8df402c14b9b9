"""Drivers of `kafkalet conform client` for the Python clients of Kafka.

    kafkalet conform client -- python3 -m kafkalet_conformance.clients.drivers.kafka_python

A driver uses the default settings of its client, except those that the environment variables set. The drivers for
Java, Go and Node are in `clients/conformance`.
"""
