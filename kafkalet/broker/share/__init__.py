"""Share partitions: which records a share group has delivered, to whom, and how often (KIP-932).

    in_flight.py, share_partition.py, acquisition.py    the records in flight of a share partition, without any I/O
    open_partition.py, share_partitions.py              those of a broker, loaded, persisted and locked
    sessions.py, fetching.py                            how members fetch them
    dead_letters.py                                     where records go that cannot be delivered (KIP-1191)
    configuration.py                                    the properties of groups that apply to them

    state.py, records.py                                what is stored of a share partition, in __share_group_state
    shard.py, coordinator.py                            the share coordinator of a broker, by partition of that topic
    outcomes.py                                         how deliveries have ended, for the test kit
    persister.py                                        how the leader of a partition, and the group coordinator, use it

The members of share groups are in broker/groups/share.
"""
