"""A client that reads topics, offsets and records from a running broker.

    client_properties.py      parses consumer properties, which have Kafka's names
    security.py               sets up TLS and SASL/PLAIN
    connection.py             manages one connection: framing and version negotiation
    metadata.py               caches partition leaders and broker addresses
    broker.py                 LiveBroker: a client for the topics and offsets of a cluster
    lookups.py                sends ListOffsets requests for thousands of timestamps
    fetching.py               sends Fetch requests for one partition, following its leader
    reading.py                LiveSplit and read_live: reads a range of a partition as buffers with their batches
    aborted_transactions.py   finds the ranges of aborted transactions

The client uses blocking sockets, without threads or asyncio, because it runs inside Spark tasks. It works with any
release of Apache Kafka from 0.11 on, and with kafkalet, which is not treated differently.
"""
