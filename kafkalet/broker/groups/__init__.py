"""Consumer groups and the offsets they commit, as the broker that coordinates them keeps both.

    coordinator         the entry: which partition of __consumer_offsets a group belongs to
    shard, loading      what lies in one such partition: groups, offsets, and the log under them
    group               what every kind of group can be asked
    classic/            groups whose members assign partitions among themselves (JoinGroup, SyncGroup)
    consumer/           groups that the broker assigns partitions to (ConsumerGroupHeartbeat, KIP-848)
    assignors/          the assignors of the broker: uniform and range
    offsets...          committed offsets, also those of open transactions

A handler finds the shard of its group and does its work there.
"""
