"""Share groups (ShareGroupHeartbeat, KIP-932): groups whose members share partitions. The broker assigns them.

    heartbeat           handles ShareGroupHeartbeat: joining, staying and leaving, and the target assignment
    group               the state of a group, which changes only by replaying records, and its configuration
    members             the members of a group
    records             the records of a group in __consumer_offsets
    states              the partitions whose state the share coordinator has, is initializing or is deleting
    initialization      initializes and deletes that state, with the persister

What consumer groups have, too, is in groups/modern/. The records in flight, and the sessions in which members fetch
them, are in broker/share/; the groups do not know them.
"""
