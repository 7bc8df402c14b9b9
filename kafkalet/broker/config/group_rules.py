"""The part of the emulated release (release.py) that is about groups: one named rule for each difference."""


class GroupRules:
    """In what releases differ where groups are concerned."""

    __slots__ = ()

    version: tuple[int, ...]

    # Classic groups

    @property
    def writes_new_groups(self) -> bool:
        """A group that somebody tries to join is in the log from then on, not only once it has members (KIP-848)."""
        return self.version >= (4, 0)

    @property
    def delays_every_initial_rebalance(self) -> bool:
        """Newcomers prolong the wait of any group that was empty; before 4.0 only of one in its first generation."""
        return self.version >= (4, 0)

    @property
    def spares_tombstones_of_simple_groups(self) -> bool:
        """A deleted group without a generation leaves no tombstone, for it was never written; since 4.0 it does."""
        return self.version < (4, 0)

    @property
    def group_operations(self) -> int:
        """What may be done with a group, one bit each: read, describe, delete; describe and alter configs (4.0)."""
        return 328 if self.version < (4, 0) else 3400

    @property
    def group_value_version(self) -> int:
        """The version in which classic groups are written to the log."""
        return 3 if self.version >= (2, 3) else 2 if self.version >= (2, 1) else 1 if self.version >= (0, 10, 1) else 0

    @property
    def takes_heartbeats_before_assignments(self) -> bool:
        """Members may send heartbeats while the leader assigns; before 2.7 they were told to join again."""
        return self.version >= (2, 7)

    @property
    def takes_new_timeouts(self) -> bool:
        """A member that joins again may bring other timeouts; before 3.4 those it first came with count."""
        return self.version >= (3, 4)

    @property
    def misses_expected_members(self) -> bool:
        """When an id is given back that was never used, all members have to join again (4.0)."""
        return self.version >= (4, 0)

    @property
    def looks_for_instance_ids(self) -> bool:
        """A member with an instance id that the group does not know is unknown; before 3.0 only when it joins."""
        return self.version >= (3, 0)

    @property
    def keeps_groups_in_java(self) -> bool:
        """Between protocols with as many votes a hash table of Java decides (4.0), one of Scala before."""
        return self.version >= (4, 0)

    @property
    def hides_assignments_of_rebalances(self) -> bool:
        """DescribeGroups shows what is assigned only in a stable group; since 4.0 what was assigned last in any."""
        return self.version < (4, 0)

    @property
    def trims_group_states(self) -> bool:
        """ListGroups ignores space around the states to look for (4.0)."""
        return self.version >= (4, 0)

    @property
    def ignores_case_of_group_states(self) -> bool:
        """ListGroups takes the states to look for in any case (3.8)."""
        return self.version >= (3, 8)

    # Groups of the consumer protocol

    @property
    def runs_consumer_groups(self) -> bool:
        """The consumer protocol (KIP-848) is on unless somebody turns it off; 3.7 to 3.9 have it, turned off."""
        return self.version >= (4, 0)

    @property
    def knows_regular_expressions(self) -> bool:
        """Members may subscribe by regular expression (ConsumerGroupHeartbeat v1)."""
        return self.version >= (4, 0)

    @property
    def first_epoch_of_consumer_groups(self) -> int:
        """The epoch of a group before anybody was in it; what happens first raises it."""
        return 1 if self.version >= (4, 3) else 0

    @property
    def keeps_hash_of_topics(self) -> bool:
        """A group remembers a hash of its topics; before 4.1 it had a record of all of them."""
        return self.version >= (4, 1)

    @property
    def looks_at_subscriptions_within_epochs(self) -> bool:
        """A member gives back at once what it no longer wants, and may join anew in any epoch (4.2)."""
        return self.version >= (4, 2)

    @property
    def notices_expressions_given_up(self) -> bool:
        """Who gives a regular expression up is assigned anew (4.3); before, at some later occasion."""
        return self.version >= (4, 3)

    @property
    def keeps_assignment_epochs(self) -> bool:
        """A member's partitions keep the epoch in which they were assigned, so that it may commit their offsets late
        (KIP-1251), and targets are spaced by `group.consumer.assignment.interval.ms`; both since 4.3."""
        return self.version >= (4, 3)

    @property
    def settles_empty_groups(self) -> bool:
        """When the last member has gone, nothing is left to be assigned: the assignment epoch follows (4.4)."""
        return self.version >= (4, 4)

    @property
    def rebalances_for_another_assignor(self) -> bool:
        """When most members prefer another assignor the group is assigned anew (4.4); before that, at some later
        occasion. And a static member may come back to a group that is full."""
        return self.version >= (4, 4)
