"""Share groups (KIP-932): redelivery, sessions, acknowledgements that are lost or come too late, and leader changes."""

from kafkalet_conformance.clients.judges import shared
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Stage

GROUP = "conformance-share-group"
CATALOG = Catalog(role=Role.SHARE, group=GROUP, judge=shared())
scenario = CATALOG.scenario
AT_LEAST_ONCE = "a record whose acknowledgement did not take effect is delivered again"


def _prepare(stage: Stage, partitions: int = 1) -> None:
    stage.create_topic(partitions)
    stage.cluster.share_group(GROUP).configure({"share.auto.offset.reset": "earliest"})
    for partition in range(partitions):
        stage.send(20 // partitions, partition=partition)


@scenario("A share consumer gets released records again, and acknowledges every record.", "KIP-932")
def share(stage: Stage) -> None:
    _prepare(stage, partitions=2)


def _session_error(error: str) -> Play:
    def play(stage: Stage) -> None:
        _prepare(stage)
        stage.fault("ShareFetch", error=error, times=1, when=lambda request: request.share_session_epoch > 0)

    return play


for _name, _error in (("not-found", "SHARE_SESSION_NOT_FOUND"), ("epoch", "INVALID_SHARE_SESSION_EPOCH")):
    scenario(
        f"A share consumer whose session fails with {_error} opens another one, and acknowledges every record.",
        "KIP-932; ShareSessionHandler.handleResponse",
        name=f"share-session-{_name}",
        judge=shared(redelivery=AT_LEAST_ONCE),
    )(_session_error(_error))


@scenario(
    "A share consumer that gets no response to an acknowledgement continues, and acknowledges every record.",
    "KIP-932; ShareConsumeRequestManager",
    judge=shared(redelivery=AT_LEAST_ONCE),
)
def share_acknowledgement_lost(stage: Stage) -> None:
    _prepare(stage)
    stage.fault("ShareAcknowledge", disconnect="before", times=1)


@scenario(
    "A share consumer whose locks have expired before it acknowledges gets the records again.",
    "KIP-932; SharePartition.releaseAcquisitionLockOnTimeout",
    judge=shared(redelivery=AT_LEAST_ONCE),
)
def share_locks_expire(stage: Stage) -> None:
    _prepare(stage)
    stage.held = stage.fault("ShareAcknowledge", hang=True, times=1)
    stage.start()
    stage.held.wait_until_fired()
    stage.cluster.share_group(GROUP).expire_locks()
    stage.held.release()


@scenario(
    "A share consumer finds the new leader of a partition, and acknowledges every record.",
    "KIP-932; KIP-951",
    judge=shared(redelivery=AT_LEAST_ONCE),
    brokers=2,
)
def share_leader_moves(stage: Stage) -> None:
    _prepare(stage)
    stage.start()
    stage.wait_for_answer("ShareAcknowledge")
    stage.topic.move_leader(to=2)
