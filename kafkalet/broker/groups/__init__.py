"""The group coordinator: consumer groups and their committed offsets.

    coordinator         finds the partition of __consumer_offsets that a group belongs to
    shard, loading      the groups and offsets in one such partition, and how they are replayed from its log
    group               the interface shared by all kinds of groups
    classic/            groups whose leader assigns the partitions (JoinGroup, SyncGroup)
    consumer/           groups whose partitions the broker assigns (ConsumerGroupHeartbeat, KIP-848)
    share/              groups whose members share partitions (ShareGroupHeartbeat, KIP-932)
    modern/             what consumer groups and share groups have in common
    assignors/          the server-side assignors: uniform, range and simple
    offsets...          committed offsets, including those of open transactions
    recent_lookups      the clients that recently looked up the coordinator and may join soon
    checked_regexes     the validated regular expressions of subscriptions

A request handler looks up the shard that its group belongs to and works on that shard.
"""
