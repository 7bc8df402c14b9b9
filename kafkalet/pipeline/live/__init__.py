"""A client that reads topics, offsets and records from a running broker.

    client_properties.py      consumer properties, by Kafka's names
    security.py               TLS and SASL/PLAIN
    connection.py             one connection: framing and version negotiation
    metadata.py               partition leaders and broker addresses
    broker.py                 LiveBroker: topics and offsets of a cluster
    lookups.py                ListOffsets for thousands of timestamps
    fetching.py               Fetch for one partition, following its leader
    reading.py                LiveSplit and read_live: a range of a partition as buffers with their batches
    aborted_transactions.py   the ranges of aborted transactions

It uses blocking sockets, without threads or asyncio, because it runs inside Spark tasks. It works with any release of
Apache Kafka from 0.11 on, and with kafkalet, which it does not treat differently.
"""
