"""What the brokers of a cluster know and do together.

metadata.py          topics, partitions, leaders, brokers: the image that all brokers share
metadata_store.py    the image on disk; changes.py: one change of it, complete or not at all
partition.py         leadership over one log; leadership.py: elections; replication.py: followers
node.py              one broker: its partitions, and what its parts share: metadata, properties, directory, clock
controller.py        what is decided for all brokers: topics, configurations, producer ids; it keeps the image on disk
state_log.py         the logs of groups and transactions: internal topics, which coordinators append to and replay
new_topics.py, assignments.py, state_topics.py, producer_ids.py
periodic_tasks.py    retention, flushes, checkpoints, the ISR
"""
