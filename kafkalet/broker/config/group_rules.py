"""The rules of the emulated release (release.py) that concern groups: one named rule per difference."""


class GroupRules:
    """Differences between releases that concern groups.

    A docstring describes the releases in which the rule is true.
    """

    __slots__ = ()

    version: tuple[int, ...]

    # Classic groups

    @property
    def writes_new_groups(self) -> bool:
        """A group is written to the log as soon as a client tries to join, even without members (KIP-848, 4.0)."""
        return self.version >= (4, 0)

    @property
    def delays_every_initial_rebalance(self) -> bool:
        """New members prolong the initial delay of any empty group; before 4.0, only that of a new group."""
        return self.version >= (4, 0)

    @property
    def spares_tombstones_of_simple_groups(self) -> bool:
        """A deleted group without a generation leaves no tombstone, because it was never written (before 4.0)."""
        return self.version < (4, 0)

    @property
    def group_operations(self) -> int:
        """The authorized operations of a group as a bit field: read, describe, delete and, since 4.0, configs."""
        return 328 if self.version < (4, 0) else 3400

    @property
    def group_value_version(self) -> int:
        """The version of the log records of classic groups."""
        return 3 if self.version >= (2, 3) else 2 if self.version >= (2, 1) else 1 if self.version >= (0, 10, 1) else 0

    @property
    def takes_heartbeats_before_assignments(self) -> bool:
        """Members may send heartbeats while the leader computes the assignment; before 2.7, they had to rejoin."""
        return self.version >= (2, 7)

    @property
    def takes_new_timeouts(self) -> bool:
        """A member that rejoins may change its timeouts; before 3.4, it kept those of its first join."""
        return self.version >= (3, 4)

    @property
    def misses_expected_members(self) -> bool:
        """All members have to rejoin after a LeaveGroup for a member id that was assigned but never used (4.0)."""
        return self.version >= (4, 0)

    @property
    def looks_for_instance_ids(self) -> bool:
        """A member with an unknown instance id is refused by every request; before 3.0, only by JoinGroup."""
        return self.version >= (3, 0)

    @property
    def keeps_groups_in_java(self) -> bool:
        """A tie between protocols is decided by the order of a Java hash table; before 4.0, by that of a Scala one."""
        return self.version >= (4, 0)

    @property
    def hides_assignments_of_rebalances(self) -> bool:
        """DescribeGroups returns assignments of stable groups only (before 4.0); later, always the last assignment."""
        return self.version < (4, 0)

    @property
    def trims_group_states(self) -> bool:
        """ListGroups strips spaces around the states in its filter (4.0)."""
        return self.version >= (4, 0)

    @property
    def ignores_case_of_group_states(self) -> bool:
        """The filter by state of ListGroups is case-insensitive (3.8)."""
        return self.version >= (3, 8)

    # Groups of the consumer protocol

    @property
    def runs_consumer_groups(self) -> bool:
        """The consumer protocol (KIP-848) is enabled by default (4.0); releases 3.7 to 3.9 have it disabled."""
        return self.version >= (4, 0)

    @property
    def knows_regular_expressions(self) -> bool:
        """Members may subscribe by regular expression (ConsumerGroupHeartbeat v1, 4.0)."""
        return self.version >= (4, 0)

    @property
    def first_epoch_of_consumer_groups(self) -> int:
        """The epoch of a new consumer group; the first change increments it."""
        return 1 if self.version >= (4, 3) else 0

    @property
    def keeps_hash_of_topics(self) -> bool:
        """The metadata of a group's topics are stored as a hash; before 4.1, as a record with all topics."""
        return self.version >= (4, 1)

    @property
    def looks_at_subscriptions_within_epochs(self) -> bool:
        """A member immediately revokes partitions it is no longer subscribed to, and may rejoin in any epoch (4.2)."""
        return self.version >= (4, 2)

    @property
    def notices_expressions_given_up(self) -> bool:
        """A member that drops its regular expression triggers a new assignment (4.3); before, a later event did."""
        return self.version >= (4, 3)

    @property
    def keeps_assignment_epochs(self) -> bool:
        """Partitions keep the epoch of their assignment, so that members may commit offsets late (KIP-1251, 4.3).

        `group.consumer.assignment.interval.ms` takes effect in the same release.
        """
        return self.version >= (4, 3)

    @property
    def settles_empty_groups(self) -> bool:
        """The assignment epoch catches up with the group epoch when the last member leaves (4.4)."""
        return self.version >= (4, 4)

    @property
    def rebalances_for_another_assignor(self) -> bool:
        """The group is reassigned when most members prefer another assignor (4.4); before, a later event did it.

        In the same releases, a static member may rejoin a full group.
        """
        return self.version >= (4, 4)
