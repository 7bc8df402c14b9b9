"""The emulated release: one named rule for each difference in behaviour between Kafka releases.

`kafkalet.protocol.releases` lists the API versions of each release; this module defines the differences in how they
respond. Other code uses these rules and never compares versions itself. The release `newest` supports the API versions
of all releases and otherwise behaves like 4.4.
"""

from typing import NamedTuple

from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.config import BATCH, COMPRESSED_BATCH, END_OF_ROUND, HIGH_WATERMARK, NOWHERE, RECORD, LogRules

from .group_rules import GroupRules


class UnknownRelease(ValueError):
    """Raised for a release that cannot be emulated. The message lists the supported releases."""


class _Named(NamedTuple):
    name: str
    version: tuple[int, ...]


class Release(_Named, GroupRules):
    """A Kafka release, and how it differs from other releases. Example: `Release.of("3.9")`.

    A rule is true in the releases that its docstring names.
    """

    __slots__ = ()

    @classmethod
    def of(cls, name: str = NEWEST) -> "Release":
        """Return the release with this name: one of RELEASES or a patch release such as `3.9.2`.

        Raises UnknownRelease.
        """
        for known in RELEASES:
            if name == known or (name.startswith(known + ".") and name[len(known) + 1 :].isdecimal()):
                newest = RELEASES[-2] if known == NEWEST else known
                return cls(known, tuple(int(part) for part in newest.split(".")))
        raise UnknownRelease(f"Kafka {name} cannot be emulated; known are {', '.join(RELEASES)}")

    @property
    def log_rules(self) -> LogRules:
        """The rules that concern logs."""
        return LogRules(
            version=self.version,
            lifts_unstable_to_log_start=self.version < (4, 0),
            honours_message_format=self.version < (3, 0),
            refuses_claimed_append_time=self.version < (3, 6),
            sets_delete_horizons=self.version >= (3, 1),
            keeps_empty_batch_before=self._keeps_empty_batch_before,
            indexes_each_batch=self.version >= (3, 9),
            place_of_max_timestamp=self._place_of_max_timestamp,
        )

    @property
    def _keeps_empty_batch_before(self) -> str:
        """Where the log cleaner keeps a batch without records, so that the last offset of a log is not lost."""
        if self.version >= (4, 4):
            return HIGH_WATERMARK
        return END_OF_ROUND if self.version >= (3, 5) else NOWHERE

    @property
    def _place_of_max_timestamp(self) -> str:
        """What ListOffsets finds for the largest timestamp: since 3.8, the record that has it (KAFKA-16310)."""
        if self.version >= (3, 8):
            return RECORD
        return BATCH if self.version >= (3, 7) else COMPRESSED_BATCH

    # ListOffsets

    @property
    def returns_duplicate_partitions(self) -> bool:
        """Before 4.0, a ListOffsets response includes duplicate partitions and topics without partitions."""
        return self.version < (4, 0)

    @property
    def ignores_isolation_of_replicas(self) -> bool:
        """Before 4.0, ListOffsets ignores an invalid isolation level unless the replica id is -1."""
        return self.version < (4, 0)

    @property
    def searches_unknown_timestamps(self) -> bool:
        """Before 3.9, ListOffsets looks up unknown negative timestamps as normal ones, and finds the first record.

        It also accepts known ones in every version.
        """
        return self.version < (3, 9)

    def searches_timestamp(self, timestamp: int) -> bool:
        """Return whether ListOffsets looks up a negative timestamp as a normal one.

        The largest timestamp (-3) is known since 3.0 (KIP-734), the first local offset (-4) since 3.5 (KIP-405).
        """
        known_since = {-3: (3, 0), -4: (3, 5)}
        return self.searches_unknown_timestamps and self.version < known_since.get(timestamp, (3, 9))

    # Authentication

    @property
    def delays_close_before_handshake(self) -> bool:
        """Before 4.0, an illegal request before SaslHandshake closes the connection after a delay.

        Later releases close the connection immediately, because they do not support clients that begin with GSSAPI.
        """
        return self.version < (4, 0)

    @property
    def reads_unsecured_tokens_as_base64url(self) -> bool:
        """Since 4.2, the parts of an unsecured OAUTHBEARER token are base64url; in earlier releases they are base64."""
        return self.version >= (4, 2)

    # Fetch

    @property
    def waits_past_end_in_same_segment(self) -> bool:
        """Before 3.8, a Fetch past the last stable offset or high watermark waits, unless a segment ends in between."""
        return self.version < (3, 8)

    @property
    def waits_past_end_in_same_batch(self) -> bool:
        """Since 4.0, a Fetch inside the first batch after the last stable offset or high watermark waits.

        The position of a reader is the start of the batch (LogSegment.read).
        """
        return self.version >= (4, 0)

    @property
    def refuses_zstd_topics_to_old_fetches(self) -> bool:
        """Before 4.0, Fetch below v10 returns UNSUPPORTED_COMPRESSION_TYPE for topics with compression.type=zstd."""
        return self.version < (4, 0)

    @property
    def moves_every_told_partition(self) -> bool:
        """Before 3.0, a fetch session moves every partition in a response to the end, even those without records."""
        return self.version < (3, 0)

    @property
    def takes_nameless_topics_into_sessions(self) -> bool:
        """Since 4.3, a fetch session treats a zero topic id as unknown instead of failing the request."""
        return self.version >= (4, 3)

    @property
    def converts_newer_formats_only(self) -> bool:
        """Before 3.0, records are down-converted, or refused, only if the client cannot read them.

        In these releases, a refusal looks like a failed read: empty records and no list of aborted transactions.
        """
        return self.version < (3, 0)

    @property
    def returns_null_records_on_fetch_errors(self) -> bool:
        """Before 4.0, a Fetch response with a top-level error has null records instead of empty records."""
        return self.version < (4, 0)

    @property
    def returns_null_for_unread_partitions(self) -> bool:
        """Before 3.1, Fetch returns null aborted transactions for partitions that are unknown or unauthorized."""
        return self.version < (3, 1)

    @property
    def returns_endpoints_to_followers(self) -> bool:
        """Before 4.0, Fetch v16 returns leader endpoints to followers as well as to consumers."""
        return self.version < (4, 0)

    # Produce

    @property
    def refuses_epochs_never_given(self) -> bool:
        """Since 4.0, a transactional batch with an epoch that was never issued is refused (KIP-890).

        The error is INVALID_PRODUCER_EPOCH.
        """
        return self.version >= (4, 0)

    @property
    def verifies_transactions(self) -> bool:
        """Since 3.6, the first batch of a transaction is verified with the transaction coordinator (KIP-890)."""
        return self.version >= (3, 6)

    # Coordinators

    @property
    def has_unavailable_share_coordinators(self) -> bool:
        """Before 4.0, FindCoordinator v6 returns COORDINATOR_NOT_AVAILABLE for share groups; later, INVALID_REQUEST."""
        return self.version < (4, 0)

    # Offsets

    @property
    def deduplicates_refused_offsets(self) -> bool:
        """Before 3.5, OffsetFetch leaves out duplicates also among topics that the client may not describe."""
        return self.version < (3, 5)

    @property
    def commits_named_twice_once(self) -> bool:
        """Before 4.0, if a partition is listed twice, OffsetCommit commits only its last entry."""
        return self.version < (4, 0)

    @property
    def reports_unknown_groups_to_commits(self) -> bool:
        """Since 4.0, a group member's OffsetCommit v9 returns GROUP_ID_NOT_FOUND if the group does not exist."""
        return self.version >= (4, 0)

    # Transactions

    @property
    def lets_writers_be_idempotent(self) -> bool:
        """Since 2.8, clients that may write to any topic may be idempotent producers (KIP-679)."""
        return self.version >= (2, 8)

    @property
    def explains_errors_of_producers(self) -> bool:
        """Since 3.0, DescribeProducers checks topic names, and its errors have messages."""
        return self.version >= (3, 0)

    @property
    def lets_administrators_write_markers(self) -> bool:
        """Since 3.8, WriteTxnMarkers is allowed with ALTER on the cluster, not only with CLUSTER_ACTION (KIP-1037)."""
        return self.version >= (3, 8)

    @property
    def answers_concurrent_transactions_first(self) -> bool:
        """Since 4.0, AddPartitionsToTxn checks for CONCURRENT_TRANSACTIONS before it checks the producer."""
        return self.version >= (4, 0)

    @property
    def implies_transaction_version_2(self) -> bool:
        """Since 4.0, if a broker adds a partition to a transaction, the transaction has version 2 (KIP-890)."""
        return self.version >= (4, 0)

    @property
    def remembers_last_start(self) -> bool:
        """Before 4.0, InitProducerId keeps the start time of the last transaction until the log is reloaded.

        Later releases reset it to -1.
        """
        return self.version < (4, 0)

    @property
    def returns_duplicate_added_partitions(self) -> bool:
        """Since 3.6, if a partition is listed several times, AddPartitionsToTxn returns a result for each (KIP-890)."""
        return self.version >= (3, 6)

    @property
    def checks_epochs_before_asking(self) -> bool:
        """Since 4.1, the producer epoch is compared with the log before the coordinator verifies the transaction."""
        return self.version >= (4, 1)

    @property
    def asks_again_when_too_early(self) -> bool:
        """Since 4.0, a broker retries for a while if the coordinator returns CONCURRENT_TRANSACTIONS."""
        return self.version >= (4, 0)

    @property
    def sends_transaction_versions(self) -> bool:
        """Since 4.2, markers of transaction version 2 are refused unless they have a new epoch (KIP-1228)."""
        return self.version >= (4, 2)

    # Replication

    @property
    def holds_high_watermark_below_min_isr(self) -> bool:
        """Since 3.7, the high watermark advances only while at least min.insync.replicas are in sync (KIP-966)."""
        return self.version >= (3, 7)

    @property
    def caps_min_isr_at_replicas(self) -> bool:
        """Since 3.7, min.insync.replicas is capped at the number of replicas (KIP-966)."""
        return self.version >= (3, 7)

    @property
    def deduplicates_fetched_offsets(self) -> bool:
        """Before 4.0, OffsetFetch leaves out duplicate partitions and topics without partitions."""
        return self.version < (4, 0)

    @property
    def refuses_unreplicated_offsets(self) -> bool:
        """Before 4.0, OffsetFetch with require_stable refuses unreplicated commits with UNSTABLE_OFFSET_COMMIT.

        Later releases wait until the commit is replicated.
        """
        return self.version < (4, 0)

    @property
    def creates_groups_for_transactions(self) -> bool:
        """Before 4.0, TxnOffsetCommit always creates a missing group; later, only if the request has no generation."""
        return self.version < (4, 0)

    @property
    def forgets_pending_offsets_of_failed_commits(self) -> bool:
        """Before 4.0, a failed TxnOffsetCommit also drops earlier pending offsets for the same partitions."""
        return self.version < (4, 0)

    @property
    def numbers_group_records(self) -> bool:
        """Since 4.0, all batches that a group coordinator writes have sequence 0, not only batches with offsets."""
        return self.version >= (4, 0)

    @property
    def tells_sizes_of_commits(self) -> bool:
        """Before 4.0, failed commits return INVALID_COMMIT_OFFSET_SIZE if too large, REQUEST_TIMED_OUT if too slow.

        Later releases return UNKNOWN_SERVER_ERROR and COORDINATOR_NOT_AVAILABLE instead.
        """
        return self.version < (4, 0)

    @property
    def keeps_old_offsets_in_zookeeper(self) -> bool:
        """Before 3.3, OffsetCommit and OffsetFetch v0 use a separate store in ZooKeeper."""
        return not self.runs_without_zookeeper

    @property
    def refuses_old_offsets(self) -> bool:
        """Since 3.3, OffsetCommit and OffsetFetch v0 return UNSUPPORTED_VERSION, because there is no ZooKeeper.

        `newest` supports them and stores the offsets in Kafka.
        """
        return self.runs_without_zookeeper and self.name != NEWEST

    @property
    def dates_every_offset(self) -> bool:
        """Before 2.1, each offset expires a fixed time after its commit, even if the group is active (KIP-211)."""
        return self.version < (2, 1)

    @property
    def offset_value_version(self) -> int:
        """The version of the log records that store committed offsets."""
        return 4 if self.version >= (4, 1) else 3

    @property
    def keeps_topic_ids_of_offsets(self) -> bool:
        """Since 4.3, committed offsets are stored with the topic id even if the client sent the topic name."""
        return self.version >= (4, 3)

    @property
    def drops_groups_with_their_last_offset(self) -> bool:
        """Before 4.0, deleting the last offset also removes an empty group.

        Later releases remove the group in the next expiration check.
        """
        return self.version < (4, 0)

    @property
    def sorts_in_sync_replicas(self) -> bool:
        """The leader reports the in-sync replicas sorted by id, not in the order in which they joined the ISR.

        Observed in 4.4, not in 3.9.
        """
        return self.version >= (4, 0)

    @property
    def fences_leaders_after_a_crash(self) -> bool:
        """After an unclean shutdown of its leader, a partition has no leader for one leader epoch.

        Observed in 4.4, not in 3.9.
        """
        return self.version >= (4, 0)

    # Metadata

    @property
    def waits_for_created_topics(self) -> bool:
        """Before 3.3, Metadata returns the result of creating a topic: LEADER_NOT_AVAILABLE or an error.

        A KRaft broker does not wait for the controller and always returns UNKNOWN_TOPIC_OR_PARTITION.
        """
        return not self.runs_without_zookeeper

    @property
    def limits_added_partitions(self) -> bool:
        """CreatePartitions refuses more than 10,000 new partitions by policy, and before it looks at the assignments.

        Observed in 4.4. In 3.9, the request fails with UNKNOWN_SERVER_ERROR after all other checks.
        """
        return self.version >= (4, 0)

    # ACLs

    @property
    def checks_rights_to_alter_brokers_first(self) -> bool:
        """Whether the right to alter a broker is checked before the new values are.

        Between 3.3 and 4.0, the broker checks the values, and then the controller the right.
        """
        return self.version >= (4, 0) or not self.runs_without_zookeeper

    @property
    def asks_for_any_resource_first(self) -> bool:
        """Whether a client that may use a resource which no ACL names may use at least one (KIP-679).

        True in KRaft releases, which use Authorizer.authorizeByResourceType. AclAuthorizer looks only at the ACLs.
        """
        return self.runs_without_zookeeper

    @property
    def checks_acls_at_controller(self) -> bool:
        """Whether AclControlManager checks new ACLs and filters, as in KRaft releases, rather than AclAuthorizer."""
        return self.runs_without_zookeeper

    @property
    def refuses_acls_without_host(self) -> bool:
        """Since 4.0, CreateAcls returns INVALID_REQUEST if the host is empty."""
        return self.version >= (4, 0)

    @property
    def sends_empty_messages_for_acls(self) -> bool:
        """Since 2.5, the error message of a successful CreateAcls or DescribeAcls is empty instead of null."""
        return self.version >= (2, 5)

    @property
    def has_acls_of_users(self) -> bool:
        """Since 3.3, ACLs can concern users and their delegation tokens (KIP-373)."""
        return self.version >= (3, 3)

    @property
    def has_acls_of_two_phase_commits(self) -> bool:
        """Since 4.1, ACLs can allow two-phase commits (KIP-939)."""
        return self.version >= (4, 1)

    # Configuration

    @property
    def sets_min_isr_cluster_wide(self) -> bool:
        """Since 4.1, a new cluster has a cluster-wide min.insync.replicas, for eligible leader replicas (KIP-966)."""
        return self.version >= (4, 1)

    @property
    def prints_sets_as_java(self) -> bool:
        """Since 4.3, error messages about properties show sets as `[a, b]` instead of `Set(a, b)`."""
        return self.version >= (4, 3)

    @property
    def refuses_duplicates_in_lists(self) -> bool:
        """Configuration changes are refused if a list contains duplicates. Observed in 4.4, not in 4.3."""
        return self.version >= (4, 4)

    @property
    def sends_empty_messages_for_configs(self) -> bool:
        """Since 2.7, a DescribeConfigs response without an error message has an empty message instead of null.

        In the same releases, `is_default` of version 0 is always false.
        """
        return self.version >= (2, 7)

    @property
    def finds_unknown_topics_to_configure(self) -> bool:
        """Since 2.7, altering an unknown topic returns UNKNOWN_TOPIC_OR_PARTITION instead of UNKNOWN_SERVER_ERROR."""
        return self.version >= (2, 7)

    @property
    def configures_groups(self) -> bool:
        """Since 4.0, groups can be configured."""
        return self.version >= (4, 0)

    @property
    def parses_client_metrics(self) -> bool:
        """Since 4.0, properties of client metrics subscriptions have types and defaults instead of being plain text."""
        return self.version >= (4, 0)

    @property
    def changes_features_together(self) -> bool:
        """Since 4.0, UpdateFeatures changes either all requested features or none."""
        return self.version >= (4, 0)

    @property
    def refuses_appending_to_unknown_properties(self) -> bool:
        """Since 4.0, appending to an unknown property returns INVALID_CONFIG instead of UNKNOWN_SERVER_ERROR."""
        return self.version >= (4, 0)

    @property
    def runs_without_zookeeper(self) -> bool:
        """Since 3.3, when KRaft became production-ready, the cluster runs in KRaft mode instead of with ZooKeeper."""
        return self.version >= (3, 3)

    # SCRAM credentials and delegation tokens

    @property
    def alters_mechanisms_independently(self) -> bool:
        """With ZooKeeper, AlterUserScramCredentials can change both mechanisms of a user in one request.

        Without it, a user that is listed twice is refused.
        """
        return not self.runs_without_zookeeper

    @property
    def describes_refused_users(self) -> bool:
        """Since 3.3, an unauthorized DescribeUserScramCredentials has one result, without a name, for each user."""
        return self.runs_without_zookeeper

    @property
    def escapes_described_users(self) -> bool:
        """Before 3.0, DescribeUserScramCredentials lists all users as ZooKeeper stores them: `%20` for a space."""
        return self.version < (3, 0)

    @property
    def knows_master_key(self) -> bool:
        """Before 4.0, delegation.token.master.key is a synonym of delegation.token.secret.key."""
        return self.version < (4, 0)

    @property
    def checks_token_owners_first(self) -> bool:
        """With ZooKeeper, RenewDelegationToken reports the wrong owner of a token before it reports its expiry."""
        return not self.runs_without_zookeeper

    @property
    def keeps_expired_tokens(self) -> bool:
        """Before 3.0, ExpireDelegationToken with a negative period cannot remove a token that has expired."""
        return self.version < (3, 0)

    @property
    def renews_tokens_for_any_time(self) -> bool:
        """With ZooKeeper, RenewDelegationToken does not limit the period, and a period of 0 ends now."""
        return not self.runs_without_zookeeper

    @property
    def authorizes_token_owners(self) -> bool:
        """Since 3.3, DESCRIBE_TOKENS on a user allows describing the delegation tokens of this user (KIP-373)."""
        return self.version >= (3, 3)

    @property
    def wraps_token_times(self) -> bool:
        """Before 4.0, times of delegation tokens that do not fit into an int64 wrap around and become negative."""
        return self.version < (4, 0)

    @property
    def time_of_refused_tokens(self) -> int:
        """The times in responses to requests for delegation tokens that the controller refuses."""
        return 0 if self.runs_without_zookeeper else -1
