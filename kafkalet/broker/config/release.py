"""The emulated release: one named rule for each difference in behavior between Kafka releases.

`kafkalet.protocol.releases` lists the API versions of each release; this module defines how their behavior differs.
Other code uses these rules and never compares versions itself. The release `newest` supports the API versions of all
releases and otherwise behaves like 4.4. docs/compatibility.md lists the rules.
"""

from functools import cache

from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.config import BATCH, COMPRESSED_BATCH, END_OF_ROUND, HIGH_WATERMARK, NOWHERE, RECORD, LogRules

from .rule import FIRST, KRAFT, Rule, Version, between, changing, since, until, with_zookeeper, without_zookeeper


class UnknownRelease(ValueError):
    """Raised for a release that cannot be emulated. The message lists the supported releases."""


class Release:
    """A Kafka release, and how it differs from other releases. Example: `Release.of("3.9")`.

    There is one instance for each release. A rule is true in the releases that its declaration names.
    """

    def __init__(self, name: str, version: Version) -> None:
        self.name = name
        self.version = version
        for rule, declared in RULES.items():
            setattr(self, rule, declared.value_in(version))
        self.log_rules = LogRules(*(getattr(self, name) for name in LogRules._fields))

    @classmethod
    def of(cls, name: str = NEWEST) -> "Release":
        """Return the release with this name: one of RELEASES or a patch release such as `3.9.2`.

        Raises UnknownRelease.
        """
        for known in RELEASES:
            if name == known or (name.startswith(known + ".") and name[len(known) + 1 :].isdecimal()):
                return _release(known)
        raise UnknownRelease(f"Kafka {name} cannot be emulated; known are {', '.join(RELEASES)}")

    # fmt: off

    runs_without_zookeeper = without_zookeeper("The cluster runs in KRaft mode instead of with ZooKeeper.")

    # ListOffsets
    returns_duplicate_partitions = until(4, 0,
        "A ListOffsets response includes a partition as often as the request names it, and topics without partitions.")
    ignores_isolation_of_replicas = until(4, 0,
        "ListOffsets ignores an invalid isolation level unless the replica id is -1.")
    searches_unknown_timestamps = until(3, 9,
        "ListOffsets looks up an unknown negative timestamp as a normal one, and finds the first record. It accepts "
        "known ones in every version.")
    lowest_known_timestamp = changing(
        "The lowest negative timestamp that ListOffsets knows is {} (KIP-734, KIP-405).",
        {FIRST: -2, (3, 0): -3, (3, 5): -4})

    # Logs; see also kafkalet.storage.config.LogRules
    lifts_unstable_to_log_start = until(4, 0,
        "If DeleteRecords removes part of an open transaction, the last stable offset rises to the log start offset.")
    honors_message_format = until(3, 0, "message.format.version selects the format on disk (KIP-724).")
    refuses_claimed_append_time = until(3, 6,
        "Every topic refuses batches that claim LogAppendTime, not only topics that use LogAppendTime.")
    sets_delete_horizons = since(3, 1, "The log cleaner gives tombstones and markers a delete horizon (KIP-534).")
    keeps_empty_batch_before = changing(
        "So that the last offset of a log is not lost, the log cleaner keeps an empty batch at this place: {}.",
        {FIRST: NOWHERE, (3, 5): END_OF_ROUND, (4, 4): HIGH_WATERMARK})
    indexes_each_batch = since(3, 9,
        "A compacted segment has index entries for batches, not only one entry for each write of the log cleaner.")
    lists_local_start_in_version_0 = between((3, 5), (3, 9),
        "ListOffsets v0 accepts the timestamp of the earliest local offset (KIP-405).")
    place_of_max_timestamp = changing(
        "The offset that ListOffsets returns for the largest timestamp is that of its {} (KAFKA-16310).",
        {FIRST: COMPRESSED_BATCH, (3, 7): BATCH, (3, 8): RECORD})

    # Authentication
    delays_close_before_handshake = until(4, 0,
        "An illegal request before SaslHandshake closes the connection after a delay. Later releases close it "
        "immediately, because they do not support clients that begin with GSSAPI.")
    reads_unsecured_tokens_as_base64url = since(4, 2,
        "The parts of an unsecured OAUTHBEARER token are base64url instead of base64.")

    # Fetch
    waits_past_end_in_same_segment = until(3, 8,
        "A Fetch past the last stable offset or high watermark waits, unless a segment ends in between.")
    waits_past_end_in_same_batch = since(4, 0,  # the position of a reader is the start of the batch (LogSegment.read)
        "A Fetch inside the first batch after the last stable offset or high watermark waits.")
    refuses_zstd_topics_to_old_fetches = until(4, 0,
        "Fetch below v10 returns UNSUPPORTED_COMPRESSION_TYPE for topics with compression.type=zstd.")
    moves_every_returned_partition = until(3, 0,
        "A fetch session moves every partition in a response to the end, even those without records.")
    takes_nameless_topics_into_sessions = since(4, 3,
        "A fetch session treats a zero topic id as unknown instead of failing the request.")
    converts_newer_formats_only = until(3, 0,
        "Records are down-converted, or refused, only if the client cannot read them. A refusal looks like a failed "
        "read: empty records and no list of aborted transactions.")
    returns_null_records_on_fetch_errors = until(4, 0,
        "A Fetch response with a top-level error has null records instead of empty records.")
    returns_null_for_unread_partitions = until(3, 1,
        "Fetch returns null aborted transactions for partitions that are unknown or unauthorized.")
    serves_strangers = until(3, 3,
        "A Fetch from a broker that is not a replica returns no records instead of an error (KAFKA-13837).")
    returns_endpoints_to_followers = until(4, 0,
        "Fetch v16 returns leader endpoints to followers as well as to consumers.")

    # Produce
    refuses_epochs_never_given = since(4, 0,
        "A transactional batch with an epoch that was never issued is refused with INVALID_PRODUCER_EPOCH (KIP-890).")
    verifies_transactions = since(3, 6,
        "The first batch of a transaction is verified with the transaction coordinator (KIP-890).")

    maps_produced_partitions_by_topic_id = since(4, 1,
        "The order of the response to a Produce request that fails as a whole depends on topic ids, too.")

    hangs_after_null_records = since(3, 8,
        "A Produce request with null records gets no response, nor do later requests of its connection. Earlier "
        "releases return UNKNOWN_SERVER_ERROR.")
    fails_with_short_batches = since(3, 8,
        "A Produce request fails as a whole if its first batch is too short to have a producer id. Earlier releases "
        "refuse only the partition, with UNKNOWN_SERVER_ERROR if the batch is too short to have a last offset.")

    # Metadata and topics
    prohibits_metadata_topic = since(3, 9,
        "CreateTopics refuses `__cluster_metadata` with INVALID_REQUEST instead of TOPIC_AUTHORIZATION_FAILED.")
    waits_for_created_topics = with_zookeeper(
        "Metadata returns the result of creating a topic: LEADER_NOT_AVAILABLE or an error. Without ZooKeeper, a "
        "broker does not wait for the controller and always returns UNKNOWN_TOPIC_OR_PARTITION.")
    orders_new_properties_like_scala = since(3, 0,
        "With ZooKeeper, CreateTopics returns properties in the order of a Scala hash table, not of a Java hash table.")
    limits_added_partitions = since(4, 3,  # earlier releases fail with UNKNOWN_SERVER_ERROR after all other checks
        "CreatePartitions refuses more than 10,000 new partitions by policy, and before it checks the assignments.")

    # Replication
    holds_high_watermark_below_min_isr = since(3, 7,
        "The high watermark advances only while at least min.insync.replicas are in sync (KIP-966).")
    caps_min_isr_at_replicas = since(3, 7, "min.insync.replicas is capped at the number of replicas (KIP-966).")
    sorts_in_sync_replicas = since(4, 0,  # observed in 4.4, not in 3.9
        "The leader reports the in-sync replicas sorted by id, not in the order in which they joined the ISR.")
    completes_moves_without_staying_replicas = since(4, 3,
        "A reassignment is complete when the added replicas are in sync, unless more replicas are removed than added.")
    fences_leaders_after_a_crash = since(4, 0,  # observed in 4.4, not in 3.9
        "After an unclean shutdown of its leader, a partition has no leader for one leader epoch.")

    # Transactions
    lets_writers_be_idempotent = since(2, 8,
        "Clients that may write to any topic may be idempotent producers (KIP-679).")
    explains_errors_of_producers = since(3, 0, "DescribeProducers checks topic names, and its errors have messages.")
    verifies_committed_offsets = since(3, 7,
        "TxnOffsetCommit is verified with the transaction coordinator, too (KIP-890).")
    explains_refused_transactions = between((3, 6), (3, 7),
        "A batch that the transaction coordinator refuses has an error message.")
    writes_other_producer_ids = since(4, 3,
        "The log records of transactions of version 1 or later have the previous and the next producer id.")
    lets_administrators_write_markers = since(3, 8,
        "WriteTxnMarkers is allowed with ALTER on the cluster, not only with CLUSTER_ACTION (KIP-1037).")
    answers_concurrent_transactions_first = since(4, 0,
        "AddPartitionsToTxn checks for CONCURRENT_TRANSACTIONS before it checks the producer.")
    implies_transaction_version_2 = since(4, 0,
        "If a broker adds a partition to a transaction, the transaction has version 2 (KIP-890).")
    remembers_last_start = until(4, 1,
        "InitProducerId keeps the start time of the last transaction until the log is reloaded. Later releases reset "
        "it to -1.")
    returns_duplicate_added_partitions = since(3, 6,
        "If a partition is listed several times, AddPartitionsToTxn returns a result for each (KIP-890).")
    maps_refused_partitions_of_transactions = until(3, 5,
        "The response to an AddPartitionsToTxn request that fails as a whole has the order of a Java hash table.")
    checks_epochs_before_asking = since(4, 1,
        "The producer epoch is compared with the log before the coordinator verifies the transaction.")
    retries_concurrent_transactions = since(4, 0,
        "A broker that verifies a transaction retries for a while if the coordinator returns CONCURRENT_TRANSACTIONS.")
    sends_transaction_versions = since(4, 2,
        "Markers of transaction version 2 are refused unless they have a new epoch (KIP-1228).")
    skips_markers_without_leader = since(4, 3,
        "A transaction ends without a marker in partitions that have no leader, and stays open there.")

    # Committed offsets
    deduplicates_fetched_offsets = until(4, 0,
        "OffsetFetch leaves out duplicate partitions and topics without partitions.")
    deduplicates_refused_offsets = until(3, 5,
        "OffsetFetch leaves out duplicates also among topics that the client may not describe.")
    deduplicates_groups_of_offsets = until(3, 5,
        "If OffsetFetch v8 names a group twice, the response has only the last of the two.")
    hangs_without_groups = between((4, 0), (4, 1), "OffsetFetch v8 and later without groups gets no response.")
    commits_only_last_duplicate = until(4, 0,
        "If a partition is listed twice, OffsetCommit commits only its last entry.")
    reports_unknown_groups_to_commits = since(4, 0,
        "A group member's OffsetCommit v9 returns GROUP_ID_NOT_FOUND if the group does not exist.")
    refuses_unreplicated_offsets = until(4, 0,
        "OffsetFetch with require_stable refuses unreplicated commits with UNSTABLE_OFFSET_COMMIT. Later releases wait "
        "until the commit is replicated.")
    creates_groups_for_transactions = until(4, 0,
        "TxnOffsetCommit always creates a missing group. Later releases do so only if the request has no generation.")
    forgets_pending_offsets_of_failed_commits = until(4, 0,
        "A failed TxnOffsetCommit also drops earlier pending offsets for the same partitions.")
    names_cause_of_failed_commits = until(4, 0,
        "Failed commits return INVALID_COMMIT_OFFSET_SIZE if too large, and REQUEST_TIMED_OUT if too slow. Later "
        "releases return UNKNOWN_SERVER_ERROR and COORDINATOR_NOT_AVAILABLE.")
    keeps_old_offsets_in_zookeeper = with_zookeeper(
        "OffsetCommit and OffsetFetch v0 use a separate store in ZooKeeper.")
    answers_heartbeats_after_changes = since(4, 0,
        "Heartbeat waits until earlier changes of groups are replicated, and returns COORDINATOR_NOT_AVAILABLE after "
        "offsets.commit.timeout.ms (CoordinatorRuntime).")
    refuses_old_offsets = between(KRAFT, (4, 0),
        "OffsetCommit and OffsetFetch v0 return UNSUPPORTED_VERSION, because there is no ZooKeeper. `newest` stores "
        "these offsets like all others.")
    expires_offsets_of_active_groups = until(2, 1,
        "Each offset expires a fixed time after its commit, even if the group is active (KIP-211).")
    offset_value_version = changing(
        "The log records that store committed offsets have version {}.", {FIRST: 3, (4, 1): 4})
    keeps_topic_ids_of_offsets = since(4, 3,
        "Committed offsets are stored with the topic id even if the client sent the topic name.")
    drops_groups_with_their_last_offset = until(4, 0,
        "Deleting the last offset also removes an empty group. Later releases remove it in the next expiration check.")

    # Groups
    configures_groups = since(4, 0, "Groups can be configured.")
    inherits_group_properties = since(4, 3,
        "The synonyms of a group property have the name of the broker property that sets its default. Earlier "
        "releases show the default under the name of the group property, and only if the group has no value.")
    returns_range_of_group_properties = since(4, 4,
        "The error of a group property out of bounds has its range, not the name of the exceeded broker property.")
    bounds_numbers_of_groups = since(4, 3,
        "Numbers of groups apply within the bounds of the brokers, which may have changed since the numbers were set.")
    writes_group_batches_with_sequence_0 = since(4, 0,
        "All batches that a group coordinator writes have sequence 0, not only batches with offsets.")
    has_unavailable_share_coordinators = until(4, 0,
        "FindCoordinator v6 returns COORDINATOR_NOT_AVAILABLE for share groups instead of INVALID_REQUEST.")
    coordinates_groups_by_partition = since(4, 0,
        "The results of requests for several groups are in the order of a hash table of partitions of "
        "`__consumer_offsets`. In earlier releases, ListGroups uses a table of group ids, the others that of the "
        "request.")
    returns_refused_groups_first = since(3, 5,
        "DescribeGroups lists the groups that the client may not describe before all others.")
    trims_group_states = since(4, 0, "ListGroups strips spaces around the states in its state filter.")
    ignores_case_of_group_states = since(3, 8, "The state filter of ListGroups is case-insensitive.")

    # Groups of the classic protocol
    writes_new_groups = since(4, 0,
        "A group is written to the log when the first client tries to join, before it has members.")
    hides_unwritten_groups = since(4, 0,
        "A group without records, as after a refused commit, is hidden until the next record of its shard.")
    delays_every_initial_rebalance = since(4, 0,
        "New members prolong the initial rebalance delay of any empty group, not only of a new group.")
    spares_tombstones_of_simple_groups = until(4, 0,
        "Deleting a group without a generation writes no tombstone, because no record of it exists.")
    group_value_version = changing(
        "The log records that store classic groups have version {}.",
        {FIRST: 0, (0, 10, 1): 1, (2, 1): 2, (2, 3): 3})
    takes_heartbeats_before_assignments = since(2, 6,
        "Heartbeats succeed while the leader computes the assignment. In earlier releases, members have to rejoin.")
    drops_unsynced_members = since(2, 8,
        "Members that send no SyncGroup within the rebalance timeout are removed (KAFKA-12890).")
    returns_member_ids_of_moved_groups = until(4, 0,
        "JoinGroup returns the member id of the request if another broker coordinates the group.")
    checks_members_of_empty_groups = between((3, 0), (3, 3),
        "In an empty group, OffsetCommit without a generation fails with UNKNOWN_MEMBER_ID if it names a member.")
    takes_new_timeouts = since(3, 3, "A member that rejoins may change its timeouts.")
    rebalances_when_pending_member_leaves = since(4, 0,
        "A LeaveGroup with a member id that was assigned but never used makes all members rejoin.")
    leaves_out_errors_of_leaving_groups = between((3, 4), (3, 5),
        "A LeaveGroup request before v3 that fails as a whole returns UNSUPPORTED_VERSION.")
    refuses_unknown_instance_ids = since(3, 0,
        "Every request with an unknown instance id is refused, not only JoinGroup.")
    breaks_ties_like_java = since(4, 0,
        "The order of a Java hash table decides ties between protocols. Earlier releases use a Scala hash table.")
    hides_assignments_of_rebalances = until(4, 0,
        "DescribeGroups returns assignments only for stable groups. Later releases always return the last assignment.")

    # Groups of the consumer protocol
    runs_consumer_groups = since(4, 0,  # supported, but disabled by default, since 3.7
        "The consumer protocol (KIP-848) is enabled by default.")
    checks_topics_of_members = since(4, 0,
        "Clients that may not describe the topics of a consumer group can neither join nor describe it.")
    keeps_returned_partitions_busy = between((4, 1), (4, 2),  # observed in 4.1.1
        "A partition that a member has to give up is not free for the same member until the member has given it up.")
    supports_regular_expressions = since(4, 0,
        "Members may subscribe by regular expression (ConsumerGroupHeartbeat v1).")
    first_epoch_of_modern_groups = changing(
        "A new consumer or share group has epoch {}, and the first change increments it.", {FIRST: 0, (4, 3): 1})
    keeps_hash_of_topics = since(4, 1,
        "The metadata of a group's topics is stored as a hash instead of a record with all topics.")
    reconciles_subscription_changes_at_once = since(4, 2,
        "A member immediately revokes partitions of unsubscribed topics, and may rejoin with any epoch.")
    lists_replication_rates = since(4, 3,
        "DescribeConfigs shows that the rates of throttled replication can be changed.")
    notices_expressions_given_up = since(4, 3,
        "A member that drops its regular expression immediately triggers a new assignment.")
    keeps_assignment_epochs = since(4, 3,
        "Partitions keep the epoch in which they were assigned, so that members may commit late (KIP-1251), and "
        "the intervals of consumer, share and streams groups between assignments take effect.")
    settles_empty_groups = since(4, 4,
        "The assignment epoch catches up with the group epoch when the last member leaves.")
    rebalances_for_another_assignor = since(4, 4,
        "The group is immediately reassigned when most members prefer another assignor, and a static member may "
        "rejoin a full group.")

    # Streams groups
    has_static_streams_members = since(4, 4,
        "Streams groups have static members and store the offsets that members report for tasks. A member of a full "
        "group may rejoin, and a member that has left returns to the tasks of the same epoch.")
    endpoints_follow_members = since(4, 4,
        "Changed endpoints increment the endpoint epoch of a streams group, and the partitions of an endpoint exist.")
    converts_tasks_within_members = since(4, 4,
        "A task of a streams group changes its kind, as from standby to active, without being revoked first.")
    assigns_tasks_by_their_owners = since(4, 4,
        "Tasks of a streams group stay with the members that have them, not with those of the last target assignment, "
        "or go to the members with the most recent copies on their disks.")

    # Share groups
    creates_share_state_topic = since(4, 0,
        "A client that requests the metadata of __share_group_state creates it as its coordinator would.")
    coordinates_share_groups = since(4, 1, "FindCoordinator v6 returns the coordinator of a share partition.")
    refuses_share_requests_without_group = since(4, 3,
        "ShareFetch and ShareAcknowledge without a group return INVALID_REQUEST instead of UNKNOWN_SERVER_ERROR.")
    checks_ids_of_share_members = since(4, 2,  # observed in 4.3, not in 4.1
        "The member id of a share group must have 1 to 36 characters.")
    fails_share_fetches_of_unknown_topics = until(4, 4,
        "A ShareFetch whose response contains an unknown topic id fails as a whole with UNKNOWN_SERVER_ERROR.")
    waits_longer_for_share_states = since(4, 2,  # observed in 4.3, not in 4.1
        "The initialization of share partitions is tried again after group.share.initialize.retry.interval.ms, not "
        "after twice offsets.commit.timeout.ms.")
    protects_share_states = since(4, 4,
        "The start offset in the state of a share partition never goes back, and negative epochs are refused.")
    merges_share_states = since(4, 4,
        "Adjacent batches in the state of a share partition are also merged if they result from overlapping ones.")
    reads_new_partitions_fully = since(4, 4,
        "Partitions that are added to a topic are read from their first record, whatever share.auto.offset.reset is.")

    # Quotas
    ignores_mutation_quotas = between(KRAFT, (3, 5), "The quota of controller mutations has no effect.")
    accepts_quotas_of_0 = until(3, 5, "AlterClientQuotas accepts quotas of 0.")
    accepts_any_quotas = between(KRAFT, (3, 5),
        "AlterClientQuotas accepts negative quotas, and more connections than an int32 can count.")
    limits_addresses_to_ipv4 = with_zookeeper("AlterClientQuotas refuses IPv6 addresses.")
    checks_quota_matches = without_zookeeper(
        "DescribeClientQuotas refuses components with a wrong match. With ZooKeeper, an unknown match type or an exact "
        "match of null is an UNKNOWN_SERVER_ERROR, and other matches ignore a name.")

    # ACLs
    checks_rights_to_alter_brokers_first = changing(
        "Altering a broker checks the client's right before it checks the new values.",
        {FIRST: True, KRAFT: False, (4, 0): True})  # in between, the broker checks the values, the controller the right
    asks_for_any_resource_first = without_zookeeper(  # Authorizer.authorizeByResourceType instead of AclAuthorizer
        "A client that may use resources without ACLs is authorized for at least one resource (KIP-679).")
    checks_acls_at_controller = without_zookeeper(
        "AclControlManager checks new ACLs and filters instead of AclAuthorizer.")
    refuses_acls_without_host = since(4, 0, "CreateAcls returns INVALID_REQUEST if the host is empty.")
    sends_empty_messages_for_acls = since(2, 5,
        "The error message of a successful CreateAcls or DescribeAcls is empty instead of null.")
    has_acls_of_users = since(3, 3, "ACLs can concern users and their delegation tokens (KIP-373).")
    has_acls_of_two_phase_commits = since(4, 1, "ACLs can allow two-phase commits (KIP-939).")

    # Configuration and features
    sets_min_isr_cluster_wide = since(4, 1,
        "A new cluster has a cluster-wide min.insync.replicas, for eligible leader replicas (KIP-966).")
    prints_sets_as_java = since(4, 3,
        "Error messages about properties show sets as `[a, b]` instead of `Set(a, b)`.")
    refuses_duplicates_in_lists = since(4, 4,  # observed in 4.4, not in 4.3
        "Configuration changes are refused if a list contains duplicates.")
    sends_empty_messages_for_configs = since(2, 7,
        "A DescribeConfigs response without an error message has an empty message instead of null, and `is_default` of "
        "version 0 is always false.")
    finds_unknown_topics_to_configure = since(2, 7,
        "Altering an unknown topic returns UNKNOWN_TOPIC_OR_PARTITION instead of UNKNOWN_SERVER_ERROR.")
    parses_client_metrics = since(4, 0,
        "Properties of client metrics subscriptions have types instead of being plain text.")
    describes_client_metrics = since(4, 1,
        "DescribeConfigs returns the types and defaults of client metrics subscriptions.")
    changes_features_together = since(4, 0, "UpdateFeatures changes either all requested features or none.")
    disables_unknown_features = between((3, 7), (4, 0),
        "UpdateFeatures accepts that a feature is disabled that does not exist.")
    explains_unregistration_errors = since(4, 1,  # observed in 4.1, not in 4.0
        "UnregisterBroker returns a message with its errors.")
    first_epoch_of_features = changing(
        "The finalized features of a new cluster have epoch {}.", {FIRST: -1, (2, 7): 0, KRAFT: 8, (4, 0): 14})
    checks_resources_to_alter = since(3, 2,
        "IncrementalAlterConfigs refuses resources that are listed twice, and unknown operations on properties of "
        "brokers with INVALID_REQUEST. Earlier releases use the last entry, and return UNKNOWN_SERVER_ERROR.")
    repeats_appended_values = with_zookeeper(
        "A value that is appended to a list twice is there twice, and subtracting it removes it once.")
    refuses_appending_to_unknown_properties = since(4, 3,
        "Appending to an unknown property returns INVALID_CONFIG instead of UNKNOWN_SERVER_ERROR.")

    # Tiered storage
    has_tiered_storage = since(3, 6, "Topics can have tiered storage. Before, remote.storage.enable has no effect.")
    reads_remote_partitions_together = since(4, 2,  # observed in 4.3, not in 4.1
        "A Fetch reads all its partitions from remote storage, and each of them counts with its maximum size towards "
        "the limit of the response. Before, it reads only the first one, which does not count.")
    notes_empty_transaction_indexes = since(4, 0,
        "The metadata of a remote segment says whether its transaction index is empty.")
    limits_isr_of_remote_log_metadata = since(4, 3,  # observed in 4.3, not in 4.1
        "__remote_log_metadata has min.insync.replicas=2.")

    # SCRAM credentials and delegation tokens
    alters_mechanisms_independently = with_zookeeper(
        "AlterUserScramCredentials can change both mechanisms of a user in one request. Without ZooKeeper, a user that "
        "is listed twice is refused.")
    describes_refused_users = without_zookeeper(
        "An unauthorized DescribeUserScramCredentials has one result, without a name, for each user.")
    escapes_described_users = until(3, 0,
        "DescribeUserScramCredentials lists all users as ZooKeeper stores them: `%20` for a space.")
    knows_master_key = until(4, 0, "delegation.token.master.key is a synonym of delegation.token.secret.key.")
    checks_token_owners_first = with_zookeeper(
        "RenewDelegationToken reports the wrong owner of a token before it reports its expiry.")
    keeps_expired_tokens = until(3, 0,
        "ExpireDelegationToken with a negative period cannot remove a token that has expired.")
    renews_tokens_for_any_time = with_zookeeper(
        "RenewDelegationToken does not limit the period, and a period of 0 expires the token at once.")
    authorizes_token_owners = since(3, 3,
        "DESCRIBE_TOKENS on a user allows describing the delegation tokens of this user (KIP-373).")
    wraps_token_times = until(4, 0,
        "Times of delegation tokens that do not fit into an int64 wrap around and become negative.")
    time_of_refused_tokens = changing(
        "If the controller refuses a request for a delegation token, the times in the response are {}.",
        {FIRST: -1, KRAFT: 0})

    # fmt: on


RULES = {name: rule for name, rule in vars(Release).items() if isinstance(rule, Rule)}
"""The rules, keyed by name, in the order of their declaration."""


@cache
def _release(name: str) -> Release:
    newest = RELEASES[-2] if name == NEWEST else name
    return Release(name, tuple(int(part) for part in newest.split(".")))
