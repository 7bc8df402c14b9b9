"""Groups of the classic protocol (JoinGroup, SyncGroup), whose members assign partitions among themselves.

    join                one JoinGroup: who may come in, and who waits
    group               the state machine: from one generation to the next
    delayed_join        how long the first generation of an empty group waits for more members
    arrivals            which clients have asked for the coordinator, so that they may join soon
    members             the members of a group
    records             the group in __consumer_offsets
    consumer_protocol   what consumers write into the messages of the classic protocol

To see why a JoinGroup waits read join, group and delayed_join.
"""
