"""The broker. Everything runs on one event loop.

    socket ── network/ ── apis/ ── context ── broker ─┬─ cluster/ ── kafkalet.storage
                                                      ├─ groups/
                                                      ├─ transactions/
                                                      └─ quotas/, config/

network/         listeners, connections, buffers, and the router from frames to handlers
apis/            request handlers, one module for each API
scheduling/      turns on the event loop, long requests, waiting requests
cluster/         metadata, the controller, leadership, nodes with their partitions, replication
groups/          the group coordinator: both rebalance protocols, offsets
transactions/    the transaction coordinator
quotas/          client quotas and throttling
config/          properties, and the differences between releases
seeding/         loading records from files
regex/           regular expressions in RE2 syntax, for groups, transactions and client metrics

server.py        creates, starts and stops the brokers of a cluster; loop_host.py provides their event loop
broker_server.py one broker with its listener and its router
broker.py        one broker as seen by handlers: its node, coordinators, fetch sessions, telemetry, quotas
coordinators.py  the group and transaction coordinators of a broker
context.py       what a handler knows about its request; client.py: what it may do with the connection
views.py         the public views of logs, groups and transactions
fetch_sessions.py, telemetry.py, arguments.py, quoting.py

Modules import each other without cycles, including imports for type checking (tests/rules/test_layers.py), from the
bottom to the top:

    metadata, partition < node < groups, transactions < coordinators
    node < leadership < controller
    coordinators, controller < broker < context < apis, network < broker_server < server

Lower modules call higher ones through a callable or a protocol that they declare themselves: a node calls its
`Observer`, a transaction coordinator uses the `Leader` of a partition.
"""
