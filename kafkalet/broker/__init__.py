"""The broker: clients, leadership, coordination. Everything runs on one event loop.

    socket ── network/ ── apis/ ─┬─ cluster/ ── kafkalet.storage
                                 ├─ groups/
                                 ├─ transactions/
                                 └─ quotas/, config/

network/         listeners, connections, buffers, and the router from a frame to its handler
apis/            one module for each API: what a request is answered
scheduling/      whose turn it is; long requests; requests that wait
cluster/         metadata, partitions, leadership, replication, nodes
groups/          the group coordinator: both rebalance protocols, offsets
transactions/    the transaction coordinator
quotas/          rates of clients, and how long they are muted
config/          properties, and the rules in which releases differ
seeding/         records from files
regex/           regular expressions in RE2 syntax, for groups, transactions and client metrics

server.py        the brokers of a cluster, and what they share; loop_host.py: in which event loop they run
views.py         what users see of logs, groups and transactions
context.py       what a handler knows about its request
fetch_sessions.py, telemetry.py, arguments.py, quoting.py
"""
