"""The state shared by the brokers of a cluster, and the controller that changes it.

metadata            the metadata image: topics, partitions, leaders and brokers, shared by all brokers
metadata_store      saves the image to disk
saved_contents      loads the image when a cluster starts; refuses or sets aside data of other brokers
changes             atomic changes of the image
controller          operations on the whole cluster: topics, configuration, producer ids
node                a broker's replicas, and what all parts of the broker share: metadata, config, directory, clock
partition           a replica and its leadership
leadership          leader election and the ISR
replication         copies records from leaders to followers
state_log           a partition of an internal topic, which a coordinator appends to and replays
state_topics        the internal topics of the coordinators
new_topics          validation and replica placement of new topics
assignments         validation of manual replica assignments
features            feature levels (KIP-584)
producer_ids        assignment of producer ids
compaction          the log cleaner in the background and on request
log_moves           moves replicas to other log directories
opening             opens the remaining logs after the start
kraft/              reads and writes the metadata log of Apache Kafka
periodic_tasks      retention, flushes, checkpoints, ISR shrinking
"""
