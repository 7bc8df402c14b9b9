import pytest

from kafkalet.broker.groups.streams.members import MemberState, StreamsMember, StreamsMembers, Tasks, TaskSet
from kafkalet.broker.groups.streams.reconciliation import Step, reconcile
from kafkalet.protocol.errors import Code, KafkaError


def tasks(*partitions: int, epoch: int = 0) -> TaskSet:
    return {"0": dict.fromkeys(partitions, epoch)} if partitions else {}


def member(name: str = "a", process: str = "p", epoch: int = 5, assigned: Tasks = Tasks()) -> StreamsMember:  # noqa: B008
    return StreamsMember(name, process_id=process, member_epoch=epoch, assigned=assigned)


def step(of: StreamsMember, target: Tasks, held: Tasks | None, *others: StreamsMember) -> StreamsMember:
    """Return the member after a step towards a target of epoch 6."""
    members = StreamsMembers()
    for each in (of, *others):
        members.update(each)
    return reconcile(of, Step(6, target, held), members)


def test_kept_task_keeps_its_epoch_and_a_new_one_gets_that_of_the_target() -> None:
    after = step(member(assigned=Tasks(tasks(0, epoch=3))), Tasks(tasks(0, 1)), None)
    assert (after.state, after.member_epoch) == (MemberState.STABLE, 6)
    assert after.assigned == Tasks({"0": {0: 3, 1: 6}})


def test_member_keeps_its_epoch_until_it_has_revoked_tasks() -> None:
    had = Tasks(tasks(0, 1, epoch=3))
    after = step(member(assigned=had), Tasks(tasks(0)), had)
    assert (after.state, after.member_epoch) == (MemberState.UNREVOKED_TASKS, 5)
    assert (after.assigned, after.pending_revocation) == (Tasks(tasks(0, epoch=3)), Tasks(tasks(1, epoch=3)))
    assert step(after, Tasks(tasks(0)), had) is after
    assert step(after, Tasks(tasks(0)), None) is after
    done = step(after, Tasks(tasks(0)), Tasks(tasks(0)))
    assert (done.state, done.member_epoch, done.pending_revocation) == (MemberState.STABLE, 6, Tasks())


def test_member_waits_for_an_active_task_of_another_process() -> None:
    other = member("b", "q", assigned=Tasks(tasks(0)))
    after = step(member(), Tasks(tasks(0, 1)), Tasks(), other)
    assert (after.state, after.assigned) == (MemberState.UNRELEASED_TASKS, Tasks(tasks(1, epoch=6)))


def test_task_of_another_member_that_it_has_not_revoked_is_not_free() -> None:
    other = member("b", "q")._replace(pending_revocation=Tasks(tasks(0)))
    assert step(member(), Tasks(tasks(0)), Tasks(), other).assigned == Tasks()


@pytest.mark.parametrize("had", [Tasks(tasks(0)), Tasks(standby=tasks(0)), Tasks(warmup=tasks(0))])
def test_copy_waits_for_another_member_of_the_process(had: Tasks) -> None:
    for target in (Tasks(standby=tasks(0)), Tasks(warmup=tasks(0))):
        assert step(member(), target, Tasks(), member("b", assigned=had)).state is MemberState.UNRELEASED_TASKS
        other_process = member("b", "q", assigned=had)
        assert step(member(), target, Tasks(), other_process).assigned == target


@pytest.mark.parametrize(
    ("had", "target"),
    [
        (Tasks(tasks(0, epoch=3)), Tasks(standby=tasks(0))),
        (Tasks(standby=tasks(0)), Tasks(warmup=tasks(0))),
        (Tasks(warmup=tasks(0)), Tasks(standby=tasks(0))),
    ],
    ids=["active to standby", "standby to warm-up", "warm-up to standby"],
)
def test_task_changes_its_kind_within_a_member(had: Tasks, target: Tasks) -> None:
    after = step(member(assigned=had), target, had)
    assert after.assigned == target


def test_standby_task_becomes_active_without_being_revoked() -> None:
    after = step(member(assigned=Tasks(standby=tasks(0))), Tasks(tasks(0)), Tasks(standby=tasks(0)))
    assert (after.state, after.assigned) == (MemberState.STABLE, Tasks(tasks(0, epoch=6)))


def test_standby_task_is_kept_until_it_can_become_active() -> None:
    other = member("b", "q", assigned=Tasks(tasks(0)))
    had = Tasks(standby=tasks(0))
    after = step(member(assigned=had), Tasks(tasks(0)), had, other)
    assert (after.state, after.assigned) == (MemberState.UNRELEASED_TASKS, had)


def test_member_in_an_unknown_state_has_to_give_up_its_tasks() -> None:
    unknown = member()._replace(state=MemberState.UNKNOWN)
    with pytest.raises(KafkaError) as raised:
        step(unknown, Tasks(), None)
    assert raised.value.code is Code.FENCED_MEMBER_EPOCH
    assert step(unknown, Tasks(tasks(0)), Tasks()).assigned == Tasks(tasks(0, epoch=6))
