"""Groups of the consumer protocol (ConsumerGroupHeartbeat, KIP-848), which the broker assigns partitions to.

    heartbeat           one ConsumerGroupHeartbeat: what it decides, in order
    group               what the broker knows of a group; only records change it
    members, timers     the members of a group, and what it waits for of them
    target_assignment   who is to get what
    reconciliation      a member on its way to its target assignment
    records             the group in __consumer_offsets
    topics, xxh3        what a group knows of its topics, and the hash of it
    regexes             subscriptions by regular expression; checked_regexes: whether they can be read
    leaving             members leave, or are fenced
    config              properties of the broker and of one group
    classic_members     members of the classic protocol in such a group
    migration           from one kind of group to the other

To follow one heartbeat read heartbeat, group and reconciliation.
"""
