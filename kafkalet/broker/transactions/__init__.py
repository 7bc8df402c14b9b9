"""Transactions over several partitions, as the broker that coordinates them keeps them.

metadata        what is known of a transactional id, and the states it goes through
records         the same as a record of __transaction_state
decisions       what a request makes of it, or why it is refused
shard           the transactional ids in one partition of __transaction_state: decide, append, then change
marker          the end of a transaction in one partition
markers         the ends of transactions, brought to the partitions that they reached
timeouts        transactions and transactional ids that have grown too old
coordinator     the door: everything that is asked of one broker
answering       from "you will be called back" to an answer
verification    what a partition asks before it lets a transaction in
vouching        the same for all partitions of a Produce request
"""
