"""The transaction coordinator, and the verification of transactions before their records are appended.

coordinator             the transaction coordinator of a broker
metadata                the metadata of a transactional id and the states of its transactions
records                 the records of __transaction_state
decisions               validates requests and computes the resulting metadata
shard                   the transactional ids stored in one partition of __transaction_state, and how they are changed
marker                  writes the marker of a transaction to one partition
markers                 writes the markers of a transaction to all of its partitions
timeouts                aborts transactions that time out, and expires transactional ids
verification            asks the coordinator whether a partition is part of a transaction
"""
