"""ShareFetch v1-2: acquire records for a member of a share group, and acknowledge earlier ones (KIP-932).

v2  adds strict limits on the number of records (KIP-1206) and renewal of acquisition locks (KIP-1222)

The epoch of the request determines the partitions to read (broker/share/sessions.py). Acknowledgements are applied
before anything is read; a request that renews locks reads nothing. The last request of a session only acknowledges,
and then releases what the member has not acknowledged.

Source: kafka.server.KafkaApis.handleShareFetchRequest.
"""

from functools import partial

from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH
from kafkalet.broker.share.acquisition import BY_BATCHES, BY_RECORDS
from kafkalet.broker.share.fetching import Answer, Fetched, ShareFetch, ShareFetchLimits, rotated
from kafkalet.broker.share.sessions import MemberKey, Place, Result, ShareContext
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.share_fetch import ShareFetchRequest as Request
from kafkalet.protocol.messages.share_fetch import ShareFetchResponse as Response
from kafkalet.tasks.delayed import after
from kafkalet.tasks.task import until

from .fetch_quota import exceeds_quota, fetch_max_bytes, has_quota
from .parts.share_requests import Leader, Results, access_error, acknowledge, leaders_of, member_of, topic_name

Partition = Response.Topic.Partition


async def handle(request: Request, context: Context) -> Response:
    member = member_of(request.group_id, request.member_id, context)
    is_fetch = request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    if request.is_renew_ack and is_fetch:
        raise KafkaError(Code.INVALID_REQUEST)
    shares = context.broker.shares
    acknowledges = any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions)
    try:
        session = shares.sessions.context(
            member,
            request.share_session_epoch,
            [
                (Place(topic.topic_id, each.partition_index), topic_name(topic.topic_id, context))
                for topic in request.topics
                for each in topic.partitions
            ],
            [Place(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions],
            acknowledges=acknowledges,
            connection=context.number,
        )
    except KafkaError as error:
        if error.code is Code.SHARE_SESSION_LIMIT_REACHED:
            await until(after(context.node.client_clock, request.max_wait_ms))
        raise
    if request.share_session_epoch == INITIAL_EPOCH:
        context.client.when_closed = partial(shares.disconnected, context.number)
    acknowledged = None
    if acknowledges:
        acknowledged = acknowledge(member, request.topics, context, renews=request.is_renew_ack)
    answer: Answer = {} if request.is_renew_ack else await _fetch(request, member, session, context)
    results = {} if acknowledged is None else await until(acknowledged)
    response = _response(answer, session, context)
    if context.release.fails_share_fetches_of_unknown_topics and any(
        topic_name(topic.topic_id, context) is None for topic in response.responses
    ):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    response.acquisition_lock_timeout_ms = shares.configs.lock_ms(member[0])
    _add_results(response, results)
    if request.share_session_epoch == FINAL_EPOCH:
        shares.close_session(member)
    return response


async def _fetch(request: Request, member: MemberKey, session: ShareContext, context: Context) -> Answer:
    refused: Answer = {}
    readable: list[tuple[Place, str]] = []
    for place, name in session.partitions.items():
        code = access_error(name, place.partition, context)
        if code is not Code.NONE:
            refused[place] = Fetched(error=KafkaError(code))
        elif name is not None:
            readable.append((place, name))
    if not readable:
        return refused
    if request.share_acquire_mode not in (BY_BATCHES, BY_RECORDS):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    shares = context.broker.shares
    max_bytes = min(request.max_bytes, fetch_max_bytes(context))
    limits = ShareFetchLimits(
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        max_records=request.max_records,
        batch_size=request.batch_size,
        mode=request.share_acquire_mode,
        isolation=shares.configs.isolation(member[0]),
    )
    partitions = rotated(readable, request.share_session_epoch)
    return await until(ShareFetch(shares, *member, limits, partitions).start()) | refused


def _response(answer: Answer, session: ShareContext, context: Context) -> Response:
    if has_quota(context) and exceeds_quota(_build(answer, context), context):
        code = Code.NONE if session.is_current else Code.INVALID_SHARE_SESSION_EPOCH
        return Response(error_code=code, acquisition_lock_timeout_ms=0, responses=[], node_endpoints=[])
    results = {
        place: Result(0 if one.error is None else one.error.code, len(one.records) > 0) for place, one in answer.items()
    }
    try:
        places = session.settle(results)
    except KafkaError as error:
        return refuse(None, context, error)
    return _build({place: answer[place] for place in places}, context)


def _build(answer: Answer, context: Context) -> Response:
    topics: dict[bytes, Response.Topic] = {}
    codes = {place: one.error.code for place, one in answer.items() if one.error is not None}
    leaders, endpoints = leaders_of(codes, context)
    for place, one in answer.items():
        topic = topics.setdefault(place.topic_id, Response.Topic(topic_id=place.topic_id, partitions=[]))
        topic.partitions.append(_partition(place.partition, one, leaders.get(place)))
    return Response(acquisition_lock_timeout_ms=0, responses=list(topics.values()), node_endpoints=endpoints)


def _partition(index: int, fetched: Fetched, leader: Leader | None = None) -> Partition:
    return Partition(
        partition_index=index,
        error_code=0 if fetched.error is None else fetched.error.code,  # Kafka sends no message
        acknowledge_error_code=0,
        current_leader=leader or Leader(leader_id=0, leader_epoch=0),
        records=fetched.records,
        acquired_records=[
            Partition.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=deliveries)
            for first, last, deliveries in fetched.acquired
        ],
    )


def _add_results(response: Response, results: Results) -> None:
    """Add the results of acknowledgements, also of partitions that are not in the response otherwise."""
    topics = {topic.topic_id: topic for topic in response.responses}
    for place, error in results.items():
        topic = topics.get(place.topic_id)
        if topic is None:
            topic = topics[place.topic_id] = Response.Topic(topic_id=place.topic_id, partitions=[])
            response.responses.append(topic)
        partition = next((each for each in topic.partitions if each.partition_index == place.partition), None)
        if partition is None:
            partition = _partition(place.partition, Fetched())
            topic.partitions.append(partition)
        if error is not None:
            partition.acknowledge_error_code = error.code
            partition.acknowledge_error_message = error.message


def refuse(request: Request | None, context: Context, error: KafkaError) -> Response:
    return Response(error_code=error.code, acquisition_lock_timeout_ms=0, responses=[], node_endpoints=[])
