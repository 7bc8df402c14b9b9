"""Member ids and generations of the classic protocol."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupRequest
from kafkalet_conformance.clients.observing.rules.groups import ClassicMembers

from .synthetic import Exchanges

ASK = ApiVersionsRequest(client_software_name="c", client_software_version="1")


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=1, member_id=member_id, protocol_type="consumer", protocols=[]
    )


def joined(member_id: str, generation: int, error: Code = Code.NONE, leader: str = "m") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error, generation_id=generation, protocol_name="p", leader=leader, member_id=member_id, members=[]
    )


def heartbeat(generation: int, member_id: str = "m") -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id)


def started() -> Exchanges:
    exchanges = Exchanges(ClassicMembers())
    exchanges.ask(ASK, 3, ApiVersionsResponse(api_keys=[]))
    return exchanges


def member() -> Exchanges:
    """Return exchanges in which the member m has joined generation 1."""
    exchanges = started()
    exchanges.ask(join(), 5, joined("m", -1, Code.MEMBER_ID_REQUIRED))
    exchanges.ask(join("m"), 5, joined("m", 1))
    return exchanges


def test_member_that_joins_and_sends_heartbeats_is_correct() -> None:
    exchanges = member()
    exchanges.ask(heartbeat(1), 3, HeartbeatResponse(error_code=Code.REBALANCE_IN_PROGRESS))
    exchanges.ask(join("m"), 5, joined("m", 2))
    exchanges.ask(heartbeat(2), 3, HeartbeatResponse())
    assert exchanges.found == []


def test_join_without_the_required_member_id_is_found() -> None:
    exchanges = started()
    exchanges.ask(join(), 5, joined("m", -1, Code.MEMBER_ID_REQUIRED))
    exchanges.sends(join(), 5)
    assert exchanges.found == ["member-id-required"]


def test_member_id_that_was_not_given_is_found_once() -> None:
    exchanges = started()
    exchanges.sends(heartbeat(1, "x"), 3)
    exchanges.sends(heartbeat(1, "x"), 3)
    assert exchanges.found == ["member-id"]


def test_older_generation_is_found() -> None:
    exchanges = member()
    exchanges.ask(join("m"), 5, joined("m", 2))
    exchanges.sends(heartbeat(1), 3, after_s=5)
    assert exchanges.found == ["generation"]


def test_generation_that_the_member_has_not_joined_is_found() -> None:
    exchanges = member()
    exchanges.sends(heartbeat(7), 3)
    assert exchanges.found == ["generation"]


def test_member_id_after_leaving_is_found() -> None:
    exchanges = member()
    left = LeaveGroupRequest.Member(member_id="m")
    exchanges.ask(LeaveGroupRequest(group_id="g", members=[left]), 3, LeaveGroupResponse(members=[]))
    exchanges.sends(heartbeat(1), 3, after_s=5)
    assert exchanges.found == ["member-id-dead"]


def test_member_id_that_the_coordinator_does_not_know_is_found() -> None:
    exchanges = member()
    exchanges.ask(heartbeat(1), 3, HeartbeatResponse(error_code=Code.UNKNOWN_MEMBER_ID))
    exchanges.sends(heartbeat(1), 3, after_s=5)
    assert exchanges.found == ["member-id-dead"]


def test_assignments_of_a_follower_are_found() -> None:
    exchanges = started()
    exchanges.ask(join(), 5, joined("m", 1, leader="other"))
    assignment = SyncGroupRequest.Assignment(member_id="m", assignment=b"")
    exchanges.sends(SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[assignment]), 3)
    assert exchanges.found == ["sync-assignments"]
