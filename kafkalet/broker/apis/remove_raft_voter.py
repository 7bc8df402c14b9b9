"""RemoveRaftVoter v0: remove a controller from the voters of the metadata log (KIP-853), which has one voter.

Source: org.apache.kafka.raft.KafkaRaftClient.handleRemoveVoterRequest, RemoveVoterHandler.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

from .add_raft_voter import check


def handle(request: RemoveRaftVoterRequest, context: Context) -> RemoveRaftVoterResponse:
    check(request, context, "Remove")
    raise KafkaError(Code.VOTER_NOT_FOUND, f"Cannot remove voter {request.voter_id} from the set of voters")
