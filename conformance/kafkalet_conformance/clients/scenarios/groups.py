"""Errors of group coordinators, coordinators that move, and rebalances."""

from kafkalet_conformance.clients.judges import all_of, consumed, consumed_or_failed, polite
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Missed, Stage

GROUP = "conformance-group"
CATALOG = Catalog(role=Role.CONSUME, group=GROUP)
scenario = CATALOG.scenario

IGNORED = 5
"""A client that sends so many requests after FENCED_INSTANCE_ID ignores it."""
STABLE_OFFSETS = 7
"""The first version of OffsetFetch with require_stable (KIP-447)."""
REDELIVERY = "a member whose commit fails reads the records again (at least once)"


def _failing(api: str, error: str, times: int) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(20)
        stage.fault(api, error=error, times=times)

    return play


STARTING = [
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", 4, "FindCoordinatorResponseHandler: retriable"),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", 4, "JoinGroupResponseHandler: retriable, after a backoff"),
    ("JoinGroup", "NOT_COORDINATOR", 1, "JoinGroupResponseHandler: the coordinator is looked up again"),
    ("JoinGroup", "UNKNOWN_MEMBER_ID", 1, "JoinGroupResponseHandler: joins without a member id"),
    ("JoinGroup", "REBALANCE_IN_PROGRESS", 1, "JoinGroupResponseHandler: joins again"),
    ("SyncGroup", "REBALANCE_IN_PROGRESS", 1, "SyncGroupResponseHandler: joins again"),
    ("SyncGroup", "ILLEGAL_GENERATION", 1, "SyncGroupResponseHandler: joins again"),
    ("SyncGroup", "UNKNOWN_MEMBER_ID", 1, "SyncGroupResponseHandler: joins without a member id"),
    ("SyncGroup", "NOT_COORDINATOR", 1, "SyncGroupResponseHandler: the coordinator is looked up again"),
]
"""Errors before a member has its partitions (AbstractCoordinator, ConsumerCoordinator): API, error, how often, why."""

for _api, _error, _times, _why in STARTING:
    _name = f"{_api}-{_error}".lower().replace("_", "-")
    _judges = [consumed()]
    if _times > 1:
        _judges.append(polite(_api, errors=[_error]))
    scenario(
        f"A member that gets {_error} from {_api} tries again, and reads every record.",
        _why,
        name=f"group-{_name}",
        judge=all_of(*_judges),
    )(_failing(_api, _error, _times))


def _fetching(error: str, times: int) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(20)
        stage.commit(10)
        stage.expect(lambda record: record.offset >= 10)
        stage.fault("OffsetFetch", error=error, times=times)

    return play


for _error, _times, _why in (
    ("COORDINATOR_LOAD_IN_PROGRESS", 4, "retriable"),
    ("NOT_COORDINATOR", 1, "the coordinator is looked up again"),
):
    scenario(
        f"A member that gets {_error} from OffsetFetch tries again, and starts at the committed offset.",
        f"ConsumerCoordinator.OffsetFetchResponseHandler: {_why}",
        name=f"group-offsetfetch-{_error.lower().replace('_', '-')}",
        judge=all_of(consumed(), polite("OffsetFetch", errors=[_error])),
        count=10,
    )(_fetching(_error, _times))


@scenario(
    "A member waits while its offsets are in an open transaction, and starts at the committed ones.",
    "KIP-447; OffsetFetchResponseHandler: UNSTABLE_OFFSET_COMMIT is retriable",
    judge=all_of(consumed(), polite("OffsetFetch", errors=["UNSTABLE_OFFSET_COMMIT"])),
    isolation="read_committed",
    count=10,
)
def group_unstable_offsets(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)
    with stage.cluster.open_transaction("conformance-open") as transaction:
        transaction.send_offsets(GROUP, {(stage.topic.name, 0): 10})
        stage.start()
        [first] = stage.wait_for_request("OffsetFetch")[:1]
        if first.version < STABLE_OFFSETS:
            raise Missed(
                f"the client sends OffsetFetch v{first.version}; only v{STABLE_OFFSETS} can request stable offsets"
            )
        stage.wait_for_answer("OffsetFetch", n=4, errors="UNSTABLE_OFFSET_COMMIT")
    stage.expect(lambda record: record.offset >= 10)


def _commit(error: str, times: int) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(10)
        failing = stage.fault("OffsetCommit", error=error, times=times)
        stage.start()
        failing.wait_until_fired(times)
        stage.send(10)

    return play


for _error in ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT"):
    scenario(
        f"A member whose commit fails with {_error} commits again, and goes on reading.",
        f"ConsumerCoordinator.OffsetCommitResponseHandler: {_error} is retriable",
        name=f"group-commit-{_error.lower().replace('_', '-')}",
        judge=consumed(redelivery=REDELIVERY),
    )(_commit(_error, 2))

for _error in ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"):
    scenario(
        f"A member whose commit fails with {_error} joins the group again, and goes on reading.",
        "ConsumerCoordinator.OffsetCommitResponseHandler: CommitFailedException, and the member joins again",
        name=f"group-commit-{_error.lower().replace('_', '-')}",
        judge=consumed(redelivery=REDELIVERY),
    )(_commit(_error, 1))


def _half_way(stage: Stage) -> None:
    """Let the member read and commit ten records."""
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_commit(10)


HEARTBEATS = {
    "REBALANCE_IN_PROGRESS": "HeartbeatResponseHandler: the member joins again",
    "ILLEGAL_GENERATION": "HeartbeatResponseHandler: the member joins again",
    "UNKNOWN_MEMBER_ID": "HeartbeatResponseHandler: the member joins without a member id",
    "NOT_COORDINATOR": "HeartbeatResponseHandler: the coordinator is looked up again",
    "COORDINATOR_NOT_AVAILABLE": "HeartbeatResponseHandler: the coordinator is looked up again",
}
"""Errors of heartbeats (AbstractCoordinator), and what follows."""


def _heartbeat(error: str) -> Play:
    def play(stage: Stage) -> None:
        _half_way(stage)
        stage.fault("Heartbeat", error=error, times=1).wait_until_fired()
        stage.send(10)

    return play


for _error, _why in HEARTBEATS.items():
    scenario(
        f"A member whose heartbeat fails with {_error} goes on, and skips no record.",
        _why,
        name=f"group-heartbeat-{_error.lower().replace('_', '-')}",
        judge=consumed(redelivery=REDELIVERY),
    )(_heartbeat(_error))


@scenario(
    "A static member that was replaced by another one with its group.instance.id reports it.",
    "KIP-345: FencedInstanceIdException is fatal",
    judge=consumed_or_failed("another member has the group.instance.id"),
    instance_id="conformance-instance",
)
def group_instance_fenced(stage: Stage) -> None:
    _half_way(stage)
    apis = ["Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup"]
    fencing = stage.fault(apis, error="FENCED_INSTANCE_ID")
    with stage.may_end():
        fencing.wait_until_fired(IGNORED)
    stage.send(10)


@scenario(
    "A member joins again when the group rebalances, and skips no record.",
    "ConsumerCoordinator.onJoinComplete",
    judge=consumed(redelivery=REDELIVERY),
)
def group_rebalance(stage: Stage) -> None:
    _half_way(stage)
    joins = len(stage.cluster.requests.filter("JoinGroup"))
    stage.cluster.group(GROUP).rebalance()
    stage.wait_for_request("JoinGroup", n=joins + 1)
    stage.send(10)


@scenario(
    "A member that was removed from its group joins again, and skips no record.",
    "HeartbeatResponseHandler: UNKNOWN_MEMBER_ID",
    judge=consumed(redelivery=REDELIVERY),
)
def group_evicted(stage: Stage) -> None:
    _half_way(stage)
    joins = len(stage.cluster.requests.filter("JoinGroup"))
    group = stage.cluster.group(GROUP)
    for member in group.members:
        group.evict(member.member_id)
    stage.wait_for_request("JoinGroup", n=joins + 1)
    stage.send(10)


@scenario(
    "A member finds the new coordinator of its group, and skips no record.",
    "AbstractCoordinator.markCoordinatorUnknown",
    judge=consumed(redelivery=REDELIVERY),
    brokers=2,
)
def group_coordinator_moves(stage: Stage) -> None:
    _half_way(stage)
    lookups = len(stage.cluster.requests.filter("FindCoordinator"))
    stage.cluster.move_coordinator(group=GROUP)
    stage.wait_for_request("FindCoordinator", n=lookups + 1)
    stage.send(10)


@scenario(
    "A member continues after the broker that coordinates its group has stopped.",
    "AbstractCoordinator.ensureCoordinatorReady",
    judge=consumed(redelivery=REDELIVERY),
    brokers=3,
)
def group_coordinator_stops(stage: Stage) -> None:
    _half_way(stage)
    [found] = stage.cluster.requests.filter("Heartbeat", "OffsetCommit").last(1)
    lookups = len(stage.cluster.requests.filter("FindCoordinator"))
    stage.cluster.broker(found.broker).stop()
    stage.wait_for_request("FindCoordinator", n=lookups + 1)
    stage.send(10)
