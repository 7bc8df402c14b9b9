from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.groups.assignors.spec import Assignment, MemberSpec, Spec
from kafkalet.broker.groups.assignors.uniform import assign

from .dealing import check_as_dealt

TOPICS = [bytes([index]) * 16 for index in range(4)]


def test_homogeneous_groups_get_assignment_of_kafka() -> None:
    assert check_as_dealt("uniform", homogeneous=True) > 50


def test_heterogeneous_groups_get_assignment_of_kafka() -> None:
    assert check_as_dealt("uniform", homogeneous=False) > 50


def test_group_without_members_gets_empty_assignment() -> None:
    assert assign(Spec({}, {}, {}, True)) == {}


@st.composite
def groups(draw: st.DrawFn) -> Spec:
    counts = {topic_id: draw(st.integers(1, 12)) for topic_id in TOPICS}
    homogeneous = draw(st.booleans())
    shared = draw(st.lists(st.sampled_from(TOPICS), unique=True))
    members: dict[str, MemberSpec] = {}
    free = {(topic_id, partition) for topic_id, count in counts.items() for partition in range(count)}
    assigned: dict[bytes, dict[int, str]] = {}
    for index in range(draw(st.integers(1, 7))):
        wanted = shared if homogeneous else draw(st.lists(st.sampled_from(TOPICS), unique=True))
        target: Assignment = {}
        for topic_id, partition in (
            draw(st.lists(st.sampled_from(sorted(free)), unique=True, max_size=8)) if free else []
        ):
            target.setdefault(topic_id, []).append(partition)
            assigned.setdefault(topic_id, {})[partition] = f"m{index}"
            free.discard((topic_id, partition))
        members[f"m{index}"] = MemberSpec(None, wanted, len(wanted), target)
    return Spec(members, counts, assigned, homogeneous)


@given(groups())
def test_every_subscribed_partition_is_assigned_to_one_subscriber(spec: Spec) -> None:
    dealt = assign(spec)
    owned = [
        (topic_id, partition)
        for member_id, assignment in dealt.items()
        for topic_id, partitions in assignment.items()
        for partition in partitions
        if topic_id in spec.members[member_id].topic_ids
    ]
    wanted = {topic_id for member in spec.members.values() for topic_id in member.topic_ids}
    everything = {(topic_id, index) for topic_id in wanted for index in range(spec.partition_counts[topic_id])}
    assert sorted(owned) == sorted(everything)
    foreign = [
        topic_id
        for member_id, assignment in dealt.items()
        for topic_id in assignment
        if topic_id not in spec.members[member_id].topic_ids
    ]
    assert not foreign


@given(groups().filter(lambda spec: spec.is_homogeneous))
def test_homogeneous_members_differ_by_one_partition_at_most(spec: Spec) -> None:
    dealt = assign(spec)
    counts = [sum(map(len, assignment.values())) for assignment in dealt.values()]
    assert max(counts, default=0) - min(counts, default=0) <= 1


@given(groups())
def test_second_assignment_changes_nothing(spec: Spec) -> None:
    dealt = assign(spec)
    members = {
        member_id: member._replace(target=dealt.get(member_id, {})) for member_id, member in spec.members.items()
    }
    assigned: dict[bytes, dict[int, str]] = {}
    for member_id, assignment in dealt.items():
        for topic_id, partitions in assignment.items():
            assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))
    again = assign(spec._replace(members=members, assigned=assigned))
    assert as_sets(again) == as_sets(dealt)


def as_sets(dealt: dict[str, Assignment]) -> dict[str, dict[bytes, set[int]]]:
    return {
        member_id: {topic_id: set(partitions) for topic_id, partitions in assignment.items()}
        for member_id, assignment in dealt.items()
    }
