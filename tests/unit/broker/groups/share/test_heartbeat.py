from kafkalet.broker.groups.administration import evict, rebalance
from kafkalet.protocol.errors import Code
from tests.unit.broker.groups.sharing import FEW_PARTITIONS, Sharing
from tests.unit.model.stage import Stage

A, B = "a" * 22, "b" * 22


def test_partitions_are_assigned_after_their_initialization(sharing: Sharing) -> None:
    assert sharing.join(A) == {}
    assert sharing.epochs[A] == 2
    assert sharing.beat(A) == {"t": [0, 1, 2]}
    assert sharing.epochs[A] == 3


def test_response_contains_assignment_only_if_it_changes_or_the_request_is_complete(sharing: Sharing) -> None:
    sharing.share(A)
    assert sharing.send(A, 3)["assignment"] is None
    assert sharing.send(A, 3, "t")["assignment"] is not None


def test_two_members_divide_three_partitions(sharing: Sharing) -> None:
    sharing.share(A, B)
    shared = sharing.assigned[A]["t"], sharing.assigned[B]["t"]
    assert sorted(shared[0] + shared[1]) == [0, 1, 2]


def test_more_members_than_partitions_share_each_partition(sharing: Sharing) -> None:
    members = [letter * 22 for letter in "abcdef"]
    sharing.share(*members)
    assigned = [partition for member in members for partition in sharing.assigned[member]["t"]]
    assert sorted(assigned) == [0, 0, 1, 1, 2, 2]


def test_new_partitions_are_assigned(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.stage.cluster.topic("t").add_partitions(2)
    sharing.beat(A)
    assert sharing.beat(A) == {"t": [0, 1, 2, 3, 4]}


def test_added_partitions_are_read_from_their_beginning(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.stage.cluster.topic("t").add_partitions(1)
    sharing.beat(A)
    assert sharing.offsets() == {("t", 0): -1, ("t", 1): -1, ("t", 2): -1, ("t", 3): 0}


def test_topic_is_assigned_when_it_is_created(sharing: Sharing) -> None:
    assert sharing.join(A, "later") == {}
    sharing.stage.cluster.topic("later").create(1)
    sharing.beat(A)
    assert sharing.beat(A) == {"later": [0]}


def test_unsubscribed_topic_is_taken_away_at_once(sharing: Sharing) -> None:
    sharing.stage.cluster.topic("u").create(1)
    sharing.join(A, "t", "u")
    assert sharing.beat(A).keys() == {"t", "u"}
    assert sharing.beat(A, "u") == {"u": [0]}


def test_target_is_computed_once_in_an_interval() -> None:
    stage = Stage(1, **FEW_PARTITIONS | {"group.share.assignment.interval.ms": "1000"})
    try:
        stage.cluster.topic("t").create(3)
        sharing = Sharing(stage)
        sharing.join(A)
        assert sharing.beat(A) == {}
        assert sharing.describe()["group_epoch"] == 3
        assert sharing.describe()["assignment_epoch"] == 2
        stage.advance(1000)
        assert sharing.beat(A) == {"t": [0, 1, 2]}
    finally:
        stage.close()


def test_current_and_previous_epoch_are_accepted(sharing: Sharing) -> None:
    sharing.share(A)
    assert [sharing.send(A, epoch)["error_code"] for epoch in (3, 2)] == [0, 0]
    lower, higher = sharing.send(A, 1), sharing.send(A, 4)
    assert lower["error_code"] == higher["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert lower["error_message"] == (
        "The share group member has a smaller member epoch (1) than the one known by the group coordinator (3), and it "
        "does not match the previous member epoch (2). The member must abandon all its partitions and rejoin."
    )
    assert higher["error_message"] == (
        "The share group member has a greater member epoch (4) than the one known by the group coordinator (3). The "
        "member must abandon all its partitions and rejoin."
    )


def test_member_may_rejoin_without_a_new_epoch(sharing: Sharing) -> None:
    sharing.share(A)
    assert sharing.join(A) == {"t": [0, 1, 2]}
    assert sharing.epochs[A] == 3


def test_unknown_member_is_refused(sharing: Sharing) -> None:
    sharing.share(A)
    for epoch in (3, -1):
        answer = sharing.send(B, epoch)
        assert answer["error_code"] == Code.UNKNOWN_MEMBER_ID
        assert answer["error_message"] == f"Member {B} is not a member of group g."


def test_full_group_accepts_no_new_member() -> None:
    stage = Stage(1, **FEW_PARTITIONS | {"group.share.max.size": "1"})
    try:
        stage.cluster.topic("t").create(1)
        sharing = Sharing(stage)
        sharing.join(A)
        answer = sharing.send(B, 0, "t")
        assert answer["error_code"] == Code.GROUP_MAX_SIZE_REACHED
        assert answer["error_message"] == "The share group has reached its maximum capacity of 1 members."
        assert sharing.send(A, 0, "t")["error_code"] == 0
    finally:
        stage.close()


def test_leaving_member_makes_room_for_the_others(sharing: Sharing) -> None:
    sharing.share(A, B)
    answer = sharing.send(B, -1)
    assert (answer["error_code"], answer["member_id"], answer["member_epoch"]) == (0, B, -1)
    assert sharing.beat(A) == {"t": [0, 1, 2]}


def test_assignment_epoch_catches_up_when_last_member_leaves(sharing: Sharing) -> None:
    sharing.share(A)
    sharing.send(A, -1)
    group = sharing.describe()
    assert (group["group_state"], group["group_epoch"], group["assignment_epoch"]) == ("Empty", 4, 4)


def test_member_without_heartbeats_is_removed(sharing: Sharing) -> None:
    sharing.share(A, B)
    sharing.stage.advance(44_000)
    sharing.beat(A)
    sharing.stage.advance(1000)
    assert [member["member_id"] for member in sharing.describe()["members"]] == [A]
    sharing.stage.advance(45_000)
    assert sharing.describe()["group_state"] == "Empty"


def test_session_timeout_of_the_group_takes_precedence(sharing: Sharing) -> None:
    sharing.stage.cluster._server.metadata.group_config["g"] = {"share.session.timeout.ms": "50000"}
    sharing.share(A)
    sharing.stage.advance(49_000)
    assert sharing.describe()["group_state"] == "Stable"
    sharing.stage.advance(1000)
    assert sharing.describe()["group_state"] == "Empty"


def test_heartbeat_interval_of_the_group_is_prescribed(sharing: Sharing) -> None:
    assert sharing.send(A, 0, "t")["heartbeat_interval_ms"] == 5000
    sharing.stage.cluster._server.metadata.group_config["g"] = {"share.heartbeat.interval.ms": "7000"}
    assert sharing.send(A, 2)["heartbeat_interval_ms"] == 7000


def test_missing_group_is_reported_to_members_that_do_not_join(sharing: Sharing) -> None:
    assert sharing.send(A, 1)["error_message"] == "Share group g not found."
    assert sharing.send(A, -1)["error_message"] == "Group g not found."


def test_evicted_member_is_unknown(sharing: Sharing) -> None:
    sharing.share(A, B)
    evict(sharing.group, A)
    assert sharing.send(A, sharing.epochs[A])["error_code"] == Code.UNKNOWN_MEMBER_ID
    assert sharing.beat(B) == {"t": [0, 1, 2]}


def test_forced_rebalance_begins_a_new_epoch(sharing: Sharing) -> None:
    sharing.share(A)
    rebalance(sharing.group)
    assert sharing.beat(A) == {"t": [0, 1, 2]}
    assert sharing.epochs[A] == 4


def test_removal_of_all_members_leaves_an_empty_group(sharing: Sharing) -> None:
    sharing.share(A, B)
    sharing.stage.cluster._server.brokers[sharing.node].coordinators.remove_members()
    assert sharing.describe()["group_state"] == "Empty"
