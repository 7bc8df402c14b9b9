"""Transactions over several partitions, as the broker that coordinates them keeps them.

coordinator     the door: which partition of __transaction_state a transactional id belongs to
verification    what a partition asks before it lets a transaction in
"""
