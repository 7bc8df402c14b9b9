"""RemoveRaftVoter (81): remove a controller from the voters of the metadata log (KIP-853)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Int16, Int32, String, Uuid


class RemoveRaftVoterRequest(Request, api=Api.REMOVE_RAFT_VOTER):
    cluster_id: String | None
    voter_id: Int32
    voter_directory_id: Uuid


class RemoveRaftVoterResponse(Response, to=RemoveRaftVoterRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
