"""AddRaftVoter (80): add a controller to the voters of the metadata log (KIP-853).

v1  adds ack_when_committed, which tells whether to respond before or after the change is committed (KIP-1186)
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Bool, Int16, Int32, String, UInt16, Uuid


class AddRaftVoterRequest(Request, api=Api.ADD_RAFT_VOTER):
    class Listener(Struct):
        name: String
        host: String
        port: UInt16

    cluster_id: String | None
    timeout_ms: Int32
    voter_id: Int32
    voter_directory_id: Uuid
    listeners: list[Listener]
    ack_when_committed: Bool = field("1+", default=True)


class AddRaftVoterResponse(Response, to=AddRaftVoterRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
