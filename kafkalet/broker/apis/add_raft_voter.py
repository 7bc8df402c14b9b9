"""AddRaftVoter v0-1: add a controller to the voters of the metadata log (KIP-853).

v1  adds whether to respond before the change is committed (KIP-1186)

The metadata log has one voter. With kraft.version 0, voters cannot change. With kraft.version 1, no other controller is
there to be added.

Source: org.apache.kafka.raft.KafkaRaftClient.handleAddVoterRequest, AddVoterHandler.
"""

from collections.abc import Callable

from kafkalet.broker.cluster.features import Features
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from kafkalet.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from kafkalet.protocol.wire import ZERO_UUID


def handle(request: AddRaftVoterRequest, context: Context) -> AddRaftVoterResponse:
    check(request, context, "Add", lambda: _check_listeners(request, context))
    if request.voter_id == context.controller.node_id:
        message = f"The voter id for {request.voter_id} is already part of the set of voters"
        raise KafkaError(Code.DUPLICATE_VOTER, message)
    raise KafkaError(Code.REQUEST_TIMED_OUT, f"New voter {request.voter_id} is not ready to receive requests")


def _check_listeners(request: AddRaftVoterRequest, context: Context) -> None:
    name = next(iter(context.controller.endpoints), "CONTROLLER")
    if name not in [listener.name for listener in request.listeners]:
        message = f"Add voter request didn't include the endpoint for the default listener ListenerName({name})"
        raise KafkaError(Code.INVALID_REQUEST, message)


def check(
    request: AddRaftVoterRequest | RemoveRaftVoterRequest,
    context: Context,
    verb: str,
    check_more: Callable[[], None] = lambda: None,
) -> None:
    """Raise KafkaError unless the request is for a voter of this cluster, and its voters can change."""
    context.require_on_cluster(Operation.ALTER)
    cluster_id = context.metadata.cluster_id
    if request.cluster_id not in (None, cluster_id):
        message = f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{cluster_id}"'
        raise KafkaError(Code.INCONSISTENT_CLUSTER_ID, message)
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise KafkaError(Code.INVALID_REQUEST, f"{verb} voter request didn't include a valid voter")
    check_more()
    if not Features(context.release, context.metadata).level("kraft.version"):
        doing = {"Add": "adding", "Remove": "removing"}[verb]
        message = f"Cluster doesn't support {doing} voter because the kraft.version feature is 0"
        raise KafkaError(Code.UNSUPPORTED_VERSION, message)
