"""The emulated release: one named rule for each difference in behaviour between releases of Kafka.

Which versions of which API a release serves is in `kafkalet.protocol.releases`; here is what the answers say. Code
that must differ asks a rule by its name and never compares versions itself. `newest` serves every version of every
release and behaves like 4.4 where releases disagree.
"""

from typing import NamedTuple

from kafkalet.protocol.releases import NEWEST, RELEASES
from kafkalet.storage.config import LogRules

from .group_rules import GroupRules


class UnknownRelease(ValueError):
    """A release that cannot be emulated. The text names those that can."""


class _Named(NamedTuple):
    name: str
    version: tuple[int, ...]


class Release(_Named, GroupRules):
    """A release of Kafka, `Release.of("3.9")`, and in what it differs from others."""

    __slots__ = ()

    @classmethod
    def of(cls, name: str = NEWEST) -> "Release":
        """The release of that name: one of RELEASES, or one of its patch releases (`3.9.2`). Raises UnknownRelease."""
        for known in RELEASES:
            if name == known or (name.startswith(known + ".") and name[len(known) + 1 :].isdecimal()):
                newest = RELEASES[-2] if known == NEWEST else known
                return cls(known, tuple(int(part) for part in newest.split(".")))
        raise UnknownRelease(f"Kafka {name} cannot be emulated; known are {', '.join(RELEASES)}")

    @property
    def log_rules(self) -> LogRules:
        """What of this a log needs to know."""
        return LogRules(
            version=self.version,
            lifts_unstable_to_log_start=self.version < (4, 0),
            honours_message_format=self.version < (3, 0),
            refuses_claimed_append_time=self.version < (3, 6),
        )

    # ListOffsets

    @property
    def answers_every_duplicate(self) -> bool:
        """A partition named twice in ListOffsets is answered twice, a topic without partitions by such a topic; since
        4.0 once, and not at all."""
        return self.version < (4, 0)

    @property
    def ignores_isolation_of_replicas(self) -> bool:
        """ListOffsets looks at isolation_level only when the replica id is -1; since 4.0 a bad one always fails."""
        return self.version < (4, 0)

    @property
    def searches_unknown_timestamps(self) -> bool:
        """ListOffsets takes a negative timestamp that it has no name for for a time, and finds the first record."""
        return self.version < (3, 0)

    # Fetch

    @property
    def refuses_zstd_topics_to_old_fetches(self) -> bool:
        """Fetch below v10 gets 76 from a topic with compression.type=zstd; since 4.0 it gets the batches."""
        return self.version < (4, 0)

    @property
    def moves_every_told_partition(self) -> bool:
        """In a fetch session every partition of an answer goes to the end; since 3.0 only those that gave records."""
        return self.version < (3, 0)

    @property
    def takes_nameless_topics_into_sessions(self) -> bool:
        """A zero topic id in a fetch session is an unknown one like others; before 4.3 the request failed with -1."""
        return self.version >= (4, 3)

    @property
    def converts_only_what_is_newer(self) -> bool:
        """Down-conversion, or its refusal, is for records that the client cannot read; since 3.0 for every answer.

        The refusal looks like that of a failed read then: empty records, no list of aborted transactions.
        """
        return self.version < (3, 0)

    @property
    def nulls_records_of_failed_fetches(self) -> bool:
        """An error of the whole Fetch leaves the records null; since 4.0 they are empty."""
        return self.version < (4, 0)

    @property
    def tells_followers_where_leaders_are(self) -> bool:
        """Fetch v16 names node endpoints to followers too; since 4.0 only to consumers."""
        return self.version < (4, 0)

    # Produce

    @property
    def refuses_epochs_never_given(self) -> bool:
        """A transactional batch with an epoch that the coordinator never gave is refused with 47 (KIP-890, 4.0)."""
        return self.version >= (4, 0)

    @property
    def verifies_transactions(self) -> bool:
        """The first batch of a transaction is refused where no coordinator vouches for it (KIP-890 part 1, 3.6)."""
        return self.version >= (3, 6)

    # Coordinators

    @property
    def finds_nobody_for_share_groups(self) -> bool:
        """FindCoordinator v6 for a share group gets 15; since 4.0 it is an invalid request where there are none."""
        return self.version < (4, 0)

    # Offsets

    @property
    def commits_named_twice_once(self) -> bool:
        """A partition named twice in OffsetCommit is committed once, as named last; since 4.0 both times."""
        return self.version < (4, 0)

    @property
    def tells_commits_of_unknown_groups(self) -> bool:
        """OffsetCommit v9 with a generation to an unknown group gets 69; before 4.0 always 22."""
        return self.version >= (4, 0)

    # Transactions

    @property
    def answers_concurrent_transactions_first(self) -> bool:
        """While a change is under way AddPartitionsToTxn answers 51 before it looks at the producer (4.0)."""
        return self.version >= (4, 0)

    @property
    def knows_epochs_per_transaction(self) -> bool:
        """A partition that a broker adds to a transaction is one of transaction version 2 (KIP-890, 4.0)."""
        return self.version >= (4, 0)

    @property
    def remembers_last_start(self) -> bool:
        """After InitProducerId a transactional id still tells when its last transaction began, until it is read from
        the log again; since 4.0 it tells -1."""
        return self.version < (4, 0)

    @property
    def repeats_added_partitions(self) -> bool:
        """AddPartitionsToTxn answers a partition that is named twice twice; before KIP-890 (3.6) once."""
        return self.version >= (3, 6)

    @property
    def checks_epochs_before_asking(self) -> bool:
        """A producer whose epoch is below the one in the log is refused before the coordinator is asked (4.1)."""
        return self.version >= (4, 1)

    @property
    def asks_again_when_too_early(self) -> bool:
        """A broker whom the coordinator answers CONCURRENT_TRANSACTIONS asks again for a while (4.0)."""
        return self.version >= (4, 0)

    @property
    def sends_transaction_versions(self) -> bool:
        """Markers of transaction version 2 have to come with a new epoch, or are refused (KIP-1228, 4.2)."""
        return self.version >= (4, 2)

    # Replication

    @property
    def holds_high_watermark_below_min_isr(self) -> bool:
        """The high watermark stays while fewer replicas are in sync than min.insync.replicas (KIP-966, 3.7)."""
        return self.version >= (3, 7)

    @property
    def caps_min_isr_at_replicas(self) -> bool:
        """min.insync.replicas beyond the number of replicas counts as that number (KIP-966, 3.7)."""
        return self.version >= (3, 7)

    @property
    def answers_fetched_offsets_once(self) -> bool:
        """OffsetFetch answers a partition that is named twice once, and no topic without partitions (until 4.0)."""
        return self.version < (4, 0)

    @property
    def refuses_unreplicated_offsets(self) -> bool:
        """OffsetFetch that wants stable offsets gets 88 while a commit is not replicated; since 4.0 it waits."""
        return self.version < (4, 0)

    @property
    def makes_groups_for_transactions(self) -> bool:
        """TxnOffsetCommit makes a group that does not exist, before anything else; since 4.0 only for no generation."""
        return self.version < (4, 0)

    @property
    def forgets_pending_offsets_of_failed_commits(self) -> bool:
        """A TxnOffsetCommit that cannot be written takes earlier ones of its partitions with it (until 4.0)."""
        return self.version < (4, 0)

    @property
    def numbers_group_records(self) -> bool:
        """All that a group coordinator writes has the sequence 0; before 4.0 only offsets."""
        return self.version >= (4, 0)

    @property
    def tells_sizes_of_commits(self) -> bool:
        """Commits that do not fit into a batch get 28, late ones 7; since 4.0 they get -1 and 15 as others do."""
        return self.version < (4, 0)

    @property
    def keeps_old_offsets_in_zookeeper(self) -> bool:
        """OffsetCommit and OffsetFetch v0 use a store of their own, in ZooKeeper."""
        return not self.runs_without_zookeeper

    @property
    def refuses_old_offsets(self) -> bool:
        """OffsetCommit and OffsetFetch v0 are refused with 35, for there is no ZooKeeper. `newest` serves them."""
        return self.runs_without_zookeeper and self.name != NEWEST

    @property
    def dates_every_offset(self) -> bool:
        """Each offset has its own time to expire, from when it is committed (until KIP-211, 2.1)."""
        return self.version < (2, 1)

    @property
    def offset_value_version(self) -> int:
        """The version in which committed offsets are written to the log."""
        return 4 if self.version >= (4, 1) else 3

    @property
    def keeps_topic_ids_of_offsets(self) -> bool:
        """Committed offsets are kept with the id of their topic also where the client has named the topic (4.3)."""
        return self.version >= (4, 3)

    @property
    def drops_groups_with_their_last_offset(self) -> bool:
        """An empty group is gone with the last offset that is deleted; since 4.0 with the next round of expiry."""
        return self.version < (4, 0)

    @property
    def sorts_in_sync_replicas(self) -> bool:
        """A leader that tells who is in sync tells it in the order of ids, no more in that in which they came (seen in
        4.4, not in 3.9)."""
        return self.version >= (4, 0)

    @property
    def fences_leaders_after_a_crash(self) -> bool:
        """A partition has no leader for a moment, in an epoch of its own, also where its broker ended without taking
        leave (seen in 4.4, not in 3.9)."""
        return self.version >= (4, 0)

    # Metadata

    @property
    def waits_for_created_topics(self) -> bool:
        """Metadata tells what came of a topic's automatic creation: LEADER_NOT_AVAILABLE, or why it was refused. A
        KRaft broker does not wait for its controller and always answers UNKNOWN_TOPIC_OR_PARTITION."""
        return not self.runs_without_zookeeper

    # Configuration

    @property
    def keeps_min_isr_in_cluster(self) -> bool:
        """min.insync.replicas is a cluster-wide property from the start, to serve eligible leaders (4.1, KIP-966)."""
        return self.version >= (4, 1)

    @property
    def prints_sets_as_java(self) -> bool:
        """Sets in refusals of changed properties look like `[a, b]`; before 4.3 like `Set(a, b)`."""
        return self.version >= (4, 3)

    @property
    def refuses_duplicates_in_lists(self) -> bool:
        """A changed list may not name the same twice (seen in 4.4, not in 4.3)."""
        return self.version >= (4, 4)

    @property
    def configures_groups(self) -> bool:
        """Groups have properties of their own (4.0, where the new group coordinator became the only one)."""
        return self.version >= (4, 0)

    @property
    def parses_client_metrics(self) -> bool:
        """Properties of subscriptions to metrics have types and defaults; before 4.0 they were texts."""
        return self.version >= (4, 0)

    @property
    def changes_features_together(self) -> bool:
        """UpdateFeatures changes all features that it names, or none; before 4.0 each for itself."""
        return self.version >= (4, 0)

    @property
    def names_unknown_lists(self) -> bool:
        """Appending to a property that no broker has is refused with 40; before 4.0 the broker failed (-1)."""
        return self.version >= (4, 0)

    @property
    def runs_without_zookeeper(self) -> bool:
        """Brokers have a node.id, and the controller checks changed configurations (KRaft, ready for use since 3.3)."""
        return self.version >= (3, 3)
