"""A running broker, asked as any Kafka client would ask it: what topics there are, where times lie, what is in a log.

    client_properties.py      the properties of a client, by Kafka's names
    security.py               TLS and SASL/PLAIN
    connection.py             one connection: frames there and back, versions agreed
    metadata.py               who leads what, and where it is reached
    broker.py                 LiveBroker: topics and offsets, from whichever broker has them
    lookups.py                ListOffsets for thousands of timestamps
    fetching.py               Fetch for one partition, wherever its leader goes
    reading.py                LiveSplit and read_live: a stretch of a partition as buffers with their batches
    aborted_transactions.py   where transactions were aborted

Blocking sockets, no threads, no asyncio: this runs inside the tasks of Spark. Any release of Apache Kafka from 0.11 on
will do, and kafkalet, which is no more known to this package than any other broker.
"""
