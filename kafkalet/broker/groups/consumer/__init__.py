"""Groups of the consumer protocol (ConsumerGroupHeartbeat, KIP-848), whose partitions the broker assigns.

    heartbeat           handles ConsumerGroupHeartbeat, step by step, and computes the target assignment
    group               the state of a group, which changes only by replaying records, and its configuration
    members             the members of a group
    reconciliation      moves a member towards its target assignment
    records             the records of a group in __consumer_offsets
    regexes             subscriptions by regular expression
    leaving             removes members that leave or are fenced
    classic_members     members of the classic protocol in a consumer group
    migration           converts classic groups to consumer groups and back

What share groups have, too, is in modern/. To follow a heartbeat, read heartbeat, group and reconciliation.
"""
