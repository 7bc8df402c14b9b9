"""Transactions over several partitions, as the broker that coordinates them keeps them.

metadata        what is known of a transactional id, and the states it goes through
records         the same as a record of __transaction_state
decisions       what a request makes of it, or why it is refused
shard           the transactional ids in one partition of __transaction_state: decide, append, then change
markers         the ends of transactions, brought to the partitions that they reached
timeouts        transactions and transactional ids that have grown too old
coordinator     the door: everything that is asked of one broker
verification    what a partition asks before it lets a transaction in
"""
