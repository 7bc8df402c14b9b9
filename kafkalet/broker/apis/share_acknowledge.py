"""ShareAcknowledge v1-2: acknowledge records that a member of a share group has acquired (KIP-932).

v2  allows renewing acquisition locks (KIP-1222)

Source: kafka.server.KafkaApis.handleShareAcknowledgeRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import FINAL_EPOCH
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.messages.share_acknowledge import ShareAcknowledgeRequest as Request
from kafkalet.protocol.messages.share_acknowledge import ShareAcknowledgeResponse as Response
from kafkalet.tasks.delayed import Delayed

from .parts.share_requests import Leader, Results, acknowledge, leaders_of, member_of

Partition = Response.Topic.Partition


def handle(request: Request, context: Context) -> Delayed[Response]:
    member = member_of(request.group_id, request.member_id, context)
    shares = context.broker.shares
    shares.sessions.acknowledge(member, request.share_session_epoch)
    applied = acknowledge(member, request.topics, context, renews=request.is_renew_ack)

    def respond(results: Results) -> Response:
        if request.share_session_epoch == FINAL_EPOCH:
            shares.close_session(member)
        return _response(results, shares.configs.lock_ms(member[0]), context)

    return applied.map(respond)


def _response(results: Results, lock_ms: int, context: Context) -> Response:
    topics: dict[bytes, Response.Topic] = {}
    codes = {place: error.code for place, error in results.items() if error is not None}
    leaders, endpoints = leaders_of(codes, context)
    for place, error in results.items():
        topic = topics.setdefault(place.topic_id, Response.Topic(topic_id=place.topic_id, partitions=[]))
        topic.partitions.append(
            Partition(
                partition_index=place.partition,
                error_code=0 if error is None else error.code,
                error_message=None if error is None else error.message,
                current_leader=leaders.get(place) or Leader(leader_id=0, leader_epoch=0),
            )
        )
    return Response(acquisition_lock_timeout_ms=lock_ms, responses=list(topics.values()), node_endpoints=endpoints)


def refuse(request: Request, context: Context, error: KafkaError) -> Response:
    return Response(error_code=error.code, responses=[], node_endpoints=[])
