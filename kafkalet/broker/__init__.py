"""The broker. Everything runs on one event loop.

    socket ── network/ ── apis/ ── context ── broker ─┬─ cluster/ ── kafkalet.storage
                                                      ├─ groups/
                                                      ├─ transactions/
                                                      └─ quotas/, config/

network/         listeners, connections, buffers, and the router from frames to handlers
apis/            request handlers, one module for each API
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
purgatory.py     requests that wait for a change or a timeout
fetch_sessions.py, telemetry.py, arguments.py, quoting.py

Imports have no cycles, even counting imports for type checking (tests/rules/test_layers.py). From the lowest layer to
the highest:

    metadata, partition < node < groups, transactions < coordinators
    node < leadership < controller
    coordinators, controller < broker < context < apis, network < broker_server < server

Lower modules call higher modules through a callable or a protocol that the lower module declares. For example, a node
calls its `Observer`, and a transaction coordinator uses the `Leader` of a partition.
"""
