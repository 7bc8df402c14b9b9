"""Consumer groups and the offsets they commit, as the broker that coordinates them keeps both.

    coordinator         the door: which partition of __consumer_offsets a group belongs to
    shard, loading      what lies in one such partition: groups, offsets, and the log under them
    group               what every kind of group can be asked
    classic...          groups whose members assign partitions among themselves (JoinGroup, SyncGroup)
    arrivals            who is on the way into one of those
    consumer...         groups that the broker assigns partitions to (KIP-848)
    assignors           who gets what there
    regex..., xxh3      subscriptions by regular expression, and the hash of a group's topics
    upgrade, downgrade  from one kind to the other
    offsets...          committed offsets, also those of open transactions

A handler finds the shard of its group and does its work there.
"""
