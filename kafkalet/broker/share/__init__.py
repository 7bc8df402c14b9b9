"""Share partitions: which records a share group has delivered, to whom, and how often (KIP-932).

    state.py          what is stored of a share partition
    records.py        its records in __share_group_state
    shard.py          the state in one partition of that topic; coordinator.py has all shards of a broker
    persister.py      how the leader of a partition, and the group coordinator, use the share coordinator

The members of share groups are in broker/groups/share.
"""
