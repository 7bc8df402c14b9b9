"""Consumer groups and the offsets they commit, as the broker that coordinates them keeps both.

coordinator    the door: which partition of __consumer_offsets a group belongs to
shard          what lies in one such partition: groups, offsets, and the log under them
group          what every kind of group can be asked
classic...     groups whose members assign partitions among themselves (JoinGroup, SyncGroup)
consumer...    groups that the broker assigns partitions to (KIP-848)
offsets...     committed offsets, also those of open transactions
"""
