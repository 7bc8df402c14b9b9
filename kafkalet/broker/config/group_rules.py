"""The differences between releases in the behaviour of groups: one named rule for each difference (see release.py)."""


class GroupRules:
    """The rules of the emulated release that concern groups.

    A rule is true in the releases that its docstring names.
    """

    __slots__ = ()

    version: tuple[int, ...]

    # Classic groups

    @property
    def writes_new_groups(self) -> bool:
        """Since 4.0, a group is written to the log when the first client tries to join, before it has members."""
        return self.version >= (4, 0)

    @property
    def hides_unwritten_groups(self) -> bool:
        """Since 4.0, a group without records, as after a refused commit, is hidden until the shard's next record."""
        return self.version >= (4, 0)

    @property
    def delays_every_initial_rebalance(self) -> bool:
        """Since 4.0, new members prolong the initial rebalance delay of any empty group, not only of a new group."""
        return self.version >= (4, 0)

    @property
    def spares_tombstones_of_simple_groups(self) -> bool:
        """Before 4.0, deleting a group without a generation writes no tombstone, because no record of it exists."""
        return self.version < (4, 0)

    @property
    def group_operations(self) -> int:
        """The authorized operations of a group as a bit field: read, describe, delete and, since 4.0, configs."""
        return 328 if self.version < (4, 0) else 3400

    @property
    def group_value_version(self) -> int:
        """The version of the log records that store classic groups."""
        return 3 if self.version >= (2, 3) else 2 if self.version >= (2, 1) else 1 if self.version >= (0, 10, 1) else 0

    @property
    def takes_heartbeats_before_assignments(self) -> bool:
        """Since 2.6, heartbeats succeed while the leader computes the assignment; earlier, members had to rejoin."""
        return self.version >= (2, 6)

    @property
    def drops_unsynced_members(self) -> bool:
        """Since 2.8, members that send no SyncGroup within the rebalance timeout are removed (KAFKA-12890)."""
        return self.version >= (2, 8)

    @property
    def takes_new_timeouts(self) -> bool:
        """Since 3.4, a member that rejoins may change its timeouts."""
        return self.version >= (3, 4)

    @property
    def misses_expected_members(self) -> bool:
        """Since 4.0, a LeaveGroup with a member id that was assigned but never used makes all members rejoin."""
        return self.version >= (4, 0)

    @property
    def looks_for_instance_ids(self) -> bool:
        """Since 3.0, every request with an unknown instance id is refused, not only JoinGroup."""
        return self.version >= (3, 0)

    @property
    def keeps_groups_in_java(self) -> bool:
        """Since 4.0, the order of a Java hash table decides ties between protocols; earlier, that of a Scala one."""
        return self.version >= (4, 0)

    @property
    def hides_assignments_of_rebalances(self) -> bool:
        """Before 4.0, DescribeGroups returns assignments only for stable groups; later, always the last assignment."""
        return self.version < (4, 0)

    @property
    def returns_refused_groups_first(self) -> bool:
        """Since 3.5, DescribeGroups lists the groups that the client may not describe before all others."""
        return self.version >= (3, 5)

    @property
    def trims_group_states(self) -> bool:
        """Since 4.0, ListGroups strips spaces around the states in its state filter."""
        return self.version >= (4, 0)

    @property
    def ignores_case_of_group_states(self) -> bool:
        """Since 3.8, the state filter of ListGroups is case-insensitive."""
        return self.version >= (3, 8)

    # Groups of the consumer protocol

    @property
    def runs_consumer_groups(self) -> bool:
        """Since 4.0, the consumer protocol (KIP-848) is enabled by default; in 3.7 to 3.9, it is disabled."""
        return self.version >= (4, 0)

    @property
    def checks_topics_of_members(self) -> bool:
        """Since 4.0, clients that may not describe the topics of a consumer group can neither join nor describe it."""
        return self.version >= (4, 0)

    @property
    def supports_regular_expressions(self) -> bool:
        """Since 4.0, members may subscribe by regular expression (ConsumerGroupHeartbeat v1)."""
        return self.version >= (4, 0)

    @property
    def first_epoch_of_consumer_groups(self) -> int:
        """The epoch of a new consumer group; the first change increments it."""
        return 1 if self.version >= (4, 3) else 0

    @property
    def keeps_hash_of_topics(self) -> bool:
        """Since 4.1, the metadata of a group's topics is stored as a hash instead of a record with all topics."""
        return self.version >= (4, 1)

    @property
    def looks_at_subscriptions_within_epochs(self) -> bool:
        """Since 4.2, a member immediately revokes partitions of unsubscribed topics, and may rejoin with any epoch."""
        return self.version >= (4, 2)

    @property
    def notices_expressions_given_up(self) -> bool:
        """Since 4.3, a member that drops its regular expression immediately triggers a new assignment."""
        return self.version >= (4, 3)

    @property
    def keeps_assignment_epochs(self) -> bool:
        """Since 4.3, partitions keep the epoch in which they were assigned, so that members may commit late (KIP-1251).

        `group.consumer.assignment.interval.ms` takes effect in the same release.
        """
        return self.version >= (4, 3)

    @property
    def settles_empty_groups(self) -> bool:
        """Since 4.4, the assignment epoch catches up with the group epoch when the last member leaves."""
        return self.version >= (4, 4)

    @property
    def rebalances_for_another_assignor(self) -> bool:
        """Since 4.4, the group is immediately reassigned when most members prefer another assignor.

        In the same releases, a static member may rejoin a full group.
        """
        return self.version >= (4, 4)
