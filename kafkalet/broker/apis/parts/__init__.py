"""Parts of handlers that several APIs share.

acl_requests            ACLs and filters in requests
authorized_operations   the operations on a resource that responses name (KIP-430)
config_changes          changes by AlterConfigs and IncrementalAlterConfigs
described_groups        groups with the consumer, share and streams protocols
mutation_quota          the quota for topic creation and deletion, which may refuse a request
offset_commits          OffsetCommit and TxnOffsetCommit
"""
