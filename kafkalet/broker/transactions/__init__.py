"""The transaction coordinator, and the verification of transactions by the partitions they write to.

coordinator             the transaction coordinator of a broker
metadata                the metadata and the states of a transactional id
records                 the records of __transaction_state
decisions               validates requests and computes the new metadata
shard                   the transactional ids in one partition of __transaction_state, and how they change
marker                  writes the marker of a transaction to one partition
markers                 writes the markers of a transaction to all of its partitions
timeouts                aborts transactions that time out, and expires transactional ids
answering               turns callbacks into responses
verification            asks the coordinator whether a partition is part of a transaction
produce_verification    verifies all partitions of a Produce request
"""
