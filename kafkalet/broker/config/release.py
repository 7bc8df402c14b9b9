"""The emulated release: one named rule for each difference in behaviour between Kafka releases.

`kafkalet.protocol.releases` lists the API versions of each release; this module defines differences in the responses.
Other code uses these rules and never compares versions itself. The release `newest` supports the API versions of all
releases and otherwise behaves like 4.4.
"""

from typing import NamedTuple

from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.config import LogRules

from .group_rules import GroupRules


class UnknownRelease(ValueError):
    """Raised for a release that cannot be emulated. The message lists the supported releases."""


class _Named(NamedTuple):
    name: str
    version: tuple[int, ...]


class Release(_Named, GroupRules):
    """A Kafka release, such as `Release.of("3.9")`, and its differences from other releases.

    The docstring of a rule describes the releases in which it is true.
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
        )

    # ListOffsets

    @property
    def answers_every_duplicate(self) -> bool:
        """ListOffsets returns duplicate partitions and topics without partitions (before 4.0)."""
        return self.version < (4, 0)

    @property
    def ignores_isolation_of_replicas(self) -> bool:
        """ListOffsets ignores an invalid isolation level if the replica id is not -1 (before 4.0)."""
        return self.version < (4, 0)

    @property
    def searches_unknown_timestamps(self) -> bool:
        """ListOffsets treats an unknown negative timestamp as a time, and finds the first record (before 3.0)."""
        return self.version < (3, 0)

    # Fetch

    @property
    def refuses_zstd_topics_to_old_fetches(self) -> bool:
        """Fetch below v10 returns UNSUPPORTED_COMPRESSION_TYPE for topics with compression.type=zstd (before 4.0)."""
        return self.version < (4, 0)

    @property
    def moves_every_told_partition(self) -> bool:
        """A fetch session moves every partition of a response to the end; since 3.0, only those with records."""
        return self.version < (3, 0)

    @property
    def takes_nameless_topics_into_sessions(self) -> bool:
        """A fetch session treats a zero topic id as unknown (4.3); before, it returned UNKNOWN_SERVER_ERROR."""
        return self.version >= (4, 3)

    @property
    def converts_only_what_is_newer(self) -> bool:
        """Records are down-converted, or refused, only if the client cannot read them (before 3.0); later, always.

        In these releases, a refusal looks like a failed read: empty records and no list of aborted transactions.
        """
        return self.version < (3, 0)

    @property
    def nulls_records_of_failed_fetches(self) -> bool:
        """A top-level error of Fetch returns null records (before 4.0); later, empty records."""
        return self.version < (4, 0)

    @property
    def tells_followers_where_leaders_are(self) -> bool:
        """Fetch v16 also returns node endpoints to followers (before 4.0); later, only to consumers."""
        return self.version < (4, 0)

    # Produce

    @property
    def refuses_epochs_never_given(self) -> bool:
        """A transactional batch with an epoch that was never issued returns INVALID_PRODUCER_EPOCH (KIP-890, 4.0)."""
        return self.version >= (4, 0)

    @property
    def verifies_transactions(self) -> bool:
        """The first batch of a transaction is verified with the transaction coordinator (KIP-890 part 1, 3.6)."""
        return self.version >= (3, 6)

    # Coordinators

    @property
    def has_unavailable_share_coordinators(self) -> bool:
        """FindCoordinator v6 returns COORDINATOR_NOT_AVAILABLE for share groups; since 4.0, INVALID_REQUEST."""
        return self.version < (4, 0)

    # Offsets

    @property
    def commits_named_twice_once(self) -> bool:
        """OffsetCommit commits only the last entry of a duplicate partition (before 4.0); later, every entry."""
        return self.version < (4, 0)

    @property
    def tells_commits_of_unknown_groups(self) -> bool:
        """OffsetCommit v9 returns GROUP_ID_NOT_FOUND for members of unknown groups; before 4.0, ILLEGAL_GENERATION."""
        return self.version >= (4, 0)

    # Transactions

    @property
    def answers_concurrent_transactions_first(self) -> bool:
        """AddPartitionsToTxn checks for CONCURRENT_TRANSACTIONS before it checks the producer (4.0)."""
        return self.version >= (4, 0)

    @property
    def knows_epochs_per_transaction(self) -> bool:
        """A partition that a broker adds to a transaction implies transaction version 2 (KIP-890, 4.0)."""
        return self.version >= (4, 0)

    @property
    def remembers_last_start(self) -> bool:
        """InitProducerId keeps the start time of the last transaction until the log is reloaded (before 4.0).

        Later releases reset it to -1.
        """
        return self.version < (4, 0)

    @property
    def repeats_added_partitions(self) -> bool:
        """AddPartitionsToTxn returns a result for every duplicate partition (KIP-890, 3.6)."""
        return self.version >= (3, 6)

    @property
    def checks_epochs_before_asking(self) -> bool:
        """A producer epoch below that in the log is refused before the coordinator verifies the transaction (4.1)."""
        return self.version >= (4, 1)

    @property
    def asks_again_when_too_early(self) -> bool:
        """A broker retries for a while if the coordinator returns CONCURRENT_TRANSACTIONS (4.0)."""
        return self.version >= (4, 0)

    @property
    def sends_transaction_versions(self) -> bool:
        """Markers of transaction version 2 are refused unless they have a new epoch (KIP-1228, 4.2)."""
        return self.version >= (4, 2)

    # Replication

    @property
    def holds_high_watermark_below_min_isr(self) -> bool:
        """The high watermark does not advance with fewer in-sync replicas than min.insync.replicas (KIP-966, 3.7)."""
        return self.version >= (3, 7)

    @property
    def caps_min_isr_at_replicas(self) -> bool:
        """min.insync.replicas is capped at the number of replicas (KIP-966, 3.7)."""
        return self.version >= (3, 7)

    @property
    def answers_fetched_offsets_once(self) -> bool:
        """OffsetFetch leaves out duplicate partitions and topics without partitions (before 4.0)."""
        return self.version < (4, 0)

    @property
    def refuses_unreplicated_offsets(self) -> bool:
        """OffsetFetch with require_stable returns UNSTABLE_OFFSET_COMMIT for unreplicated commits (before 4.0).

        Later releases wait until the commit is replicated.
        """
        return self.version < (4, 0)

    @property
    def makes_groups_for_transactions(self) -> bool:
        """TxnOffsetCommit always creates a missing group (before 4.0); later, only if the request has no generation."""
        return self.version < (4, 0)

    @property
    def forgets_pending_offsets_of_failed_commits(self) -> bool:
        """A failed TxnOffsetCommit also drops earlier pending offsets of its partitions (before 4.0)."""
        return self.version < (4, 0)

    @property
    def numbers_group_records(self) -> bool:
        """All batches of a group coordinator have sequence 0 (4.0); before, only those with offsets."""
        return self.version >= (4, 0)

    @property
    def tells_sizes_of_commits(self) -> bool:
        """Commits return INVALID_COMMIT_OFFSET_SIZE if too large and REQUEST_TIMED_OUT if too late (before 4.0).

        Later releases return UNKNOWN_SERVER_ERROR and COORDINATOR_NOT_AVAILABLE.
        """
        return self.version < (4, 0)

    @property
    def keeps_old_offsets_in_zookeeper(self) -> bool:
        """OffsetCommit and OffsetFetch v0 use a separate store, in ZooKeeper (before 3.3)."""
        return not self.runs_without_zookeeper

    @property
    def refuses_old_offsets(self) -> bool:
        """OffsetCommit and OffsetFetch v0 return UNSUPPORTED_VERSION, because there is no ZooKeeper (3.3).

        `newest` supports them and stores the offsets in Kafka.
        """
        return self.runs_without_zookeeper and self.name != NEWEST

    @property
    def dates_every_offset(self) -> bool:
        """Each offset expires a fixed time after its commit, even if the group is active (before KIP-211, 2.1)."""
        return self.version < (2, 1)

    @property
    def offset_value_version(self) -> int:
        """The version of the log records of committed offsets."""
        return 4 if self.version >= (4, 1) else 3

    @property
    def keeps_topic_ids_of_offsets(self) -> bool:
        """Committed offsets are stored with the topic id even if the client sent the topic name (4.3)."""
        return self.version >= (4, 3)

    @property
    def drops_groups_with_their_last_offset(self) -> bool:
        """Deleting the last offset removes an empty group (before 4.0); later, the next expiration check does."""
        return self.version < (4, 0)

    @property
    def sorts_in_sync_replicas(self) -> bool:
        """The leader reports in-sync replicas sorted by id, not in the order of joining (observed in 4.4, not 3.9)."""
        return self.version >= (4, 0)

    @property
    def fences_leaders_after_a_crash(self) -> bool:
        """After an unclean shutdown of its leader, a partition has a leader epoch without a leader.

        Observed in 4.4, not in 3.9.
        """
        return self.version >= (4, 0)

    # Metadata

    @property
    def waits_for_created_topics(self) -> bool:
        """Metadata returns the result of creating a topic: LEADER_NOT_AVAILABLE or the error (before 3.3).

        A KRaft broker does not wait for the controller and always returns UNKNOWN_TOPIC_OR_PARTITION.
        """
        return not self.runs_without_zookeeper

    # Configuration

    @property
    def keeps_min_isr_in_cluster(self) -> bool:
        """A new cluster sets min.insync.replicas cluster-wide, for eligible leader replicas (KIP-966, 4.1)."""
        return self.version >= (4, 1)

    @property
    def prints_sets_as_java(self) -> bool:
        """Error messages about properties print sets as `[a, b]` (4.3); before, as `Set(a, b)`."""
        return self.version >= (4, 3)

    @property
    def refuses_duplicates_in_lists(self) -> bool:
        """Changes with duplicates in a list are refused (observed in 4.4, not in 4.3)."""
        return self.version >= (4, 4)

    @property
    def configures_groups(self) -> bool:
        """Groups can be configured (4.0, with the new group coordinator)."""
        return self.version >= (4, 0)

    @property
    def parses_client_metrics(self) -> bool:
        """Properties of client metrics subscriptions have types and defaults (4.0); before, they were plain text."""
        return self.version >= (4, 0)

    @property
    def changes_features_together(self) -> bool:
        """UpdateFeatures changes all requested features or none (4.0); before, each one independently."""
        return self.version >= (4, 0)

    @property
    def names_unknown_lists(self) -> bool:
        """Appending to an unknown property returns INVALID_CONFIG (4.0); before, UNKNOWN_SERVER_ERROR."""
        return self.version >= (4, 0)

    @property
    def runs_without_zookeeper(self) -> bool:
        """The cluster runs in KRaft mode, which is production-ready since 3.3; older releases run with ZooKeeper."""
        return self.version >= (3, 3)
