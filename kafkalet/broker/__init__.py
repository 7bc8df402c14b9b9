"""The broker: clients, leadership, coordination. Everything runs on one event loop.

    socket ── network/ ── apis/ ── context ── broker ─┬─ cluster/ ── kafkalet.storage
                                                      ├─ groups/
                                                      ├─ transactions/
                                                      └─ quotas/, config/

network/         listeners, connections, buffers, and the router from a frame to its handler
apis/            one module for each API: what a request is answered
scheduling/      whose turn it is; long requests; requests that wait
cluster/         metadata, the controller, leadership, nodes with their partitions, replication
groups/          the group coordinator: both rebalance protocols, offsets
transactions/    the transaction coordinator
quotas/          rates of clients, and how long they are muted
config/          properties, and the rules in which releases differ
seeding/         records from files
regex/           regular expressions in RE2 syntax, for groups, transactions and client metrics

server.py        the brokers of a cluster are put together, started and stopped; loop_host.py: in which event loop
broker_server.py one broker with its listener and its router
broker.py        one broker as handlers know it: its node, coordinators, fetch sessions, telemetry, quotas
coordinators.py  which broker coordinates which groups and transactions
context.py       what a handler knows about its request; client.py: what it may do with the connection
views.py         what users see of logs, groups and transactions
fetch_sessions.py, telemetry.py, arguments.py, quoting.py

Modules import each other without cycles, imports for type checking included (tests/rules/test_layers.py), from the
bottom to the top:

    metadata, partition < node < groups, transactions < coordinators
    node < leadership < controller
    coordinators, controller < broker < context < apis, network < broker_server < server

What is below reaches what is above through a callable or a protocol that it declares itself: a node through its
`Observer`, a transaction coordinator through the `Leader` of a partition.
"""
