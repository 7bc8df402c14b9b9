"""Groups of the classic protocol (JoinGroup, SyncGroup), whose leader assigns the partitions.

    join                handles JoinGroup: validation, new members, rejoining, static members
    group               the state machine that takes a group from one generation to the next
    delayed_join        the delay before the first generation of an empty group
    members             the members of a group
    records             the records of a group in __consumer_offsets
    consumer_protocol   the subscriptions and assignments inside the messages of consumers

To find out why a JoinGroup request is waiting, read join, group and delayed_join.
"""
