"""StreamsGroupHeartbeat v0-1: join, stay in or leave a streams group (KIP-1071).

v1  widens acceptable_recovery_lag; members learn of missing client tags

The heartbeat of a group whose internal topics are missing creates them. Its response lists the topics that could not be
created after an earlier heartbeat.

Source: kafka.server.KafkaApis.handleStreamsGroupHeartbeat, GroupCoordinatorService.streamsGroupHeartbeat,
org.apache.kafka.server.DefaultAutoTopicCreationManager.createStreamsInternalTopics.
"""

from functools import partial

from kafkalet.broker.apis.parts.error_texts import text_of
from kafkalet.broker.apis.parts.requirements import need, need_text
from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS, check_topic_name
from kafkalet.broker.context import Context
from kafkalet.broker.groups.modern.group import existing_group, group_of
from kafkalet.broker.groups.modern.members import JOINING, LEAVING, LEAVING_FOR_A_RESTART
from kafkalet.broker.groups.streams.group import StreamsGroup, group_to_join, runs_streams_groups
from kafkalet.broker.groups.streams.heartbeat import Beat, heartbeat, leave
from kafkalet.broker.groups.streams.topology import MOST_SHOWN, InternalTopic, Status
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest as Request
from kafkalet.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse as Response
from kafkalet.tasks.task import until


async def handle(request: Request, context: Context) -> Response:
    if not runs_streams_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    if request.topology is not None:
        _check_topics(request.topology, context)
    _check(request, context)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    missing: list[InternalTopic] = []
    if request.member_epoch in (LEAVING, LEAVING_FOR_A_RESTART):
        group = group_of(StreamsGroup, shard.groups.get(request.group_id), request.group_id)
        offset = leave(group, request)
        answer = _empty(request.member_id, request.member_epoch)
    else:
        if request.member_epoch == JOINING:
            group, replacing = group_to_join(shard, request.group_id)
        else:
            group, replacing = existing_group(StreamsGroup, shard, request.group_id), []
        beat = Beat(request, context.client_id, f"/{context.peer[0]}", context.version)
        answer, offset, missing = heartbeat(group, beat, replacing)
    code = await until(shard.replicated(offset))
    if code is not Code.NONE:
        return refuse(request, context, KafkaError(code))
    if missing:
        await _create(missing, group, answer, context)
    return answer


def refuse(request: Request, context: Context, error: KafkaError) -> Response:
    answer = _empty("", 0)
    answer.error_code, answer.error_message = error.code, error.message
    return answer


def _empty(member_id: str, member_epoch: int) -> Response:
    return Response(
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=0,
        task_offset_interval_ms=0,
        status=[],
        endpoint_information_epoch=0,
    )


def _check_topics(topology: Request.Topology, context: Context) -> None:
    """Raise KafkaError if a topic of the topology is internal, has an illegal name, or may not be described."""
    topics = dict.fromkeys(
        topic
        for of in topology.subtopologies
        for topic in (
            *(*of.source_topics, *of.repartition_sink_topics),
            *(each.name for each in (*of.repartition_source_topics, *of.state_changelog_topics)),
        )
    )
    if prohibited := [topic for topic in topics if topic in INTERNAL_TOPICS]:
        raise _invalid(
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        )
    if invalid := [topic for topic in topics if not _is_legal(topic)]:
        raise _invalid(f"Topic names {','.join(invalid)} are not valid topic names.")
    for topic in topics:
        context.require(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _is_legal(topic: str) -> bool:
    try:
        check_topic_name(topic)
    except KafkaError:
        return False
    return True


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.STREAMS_INVALID_TOPOLOGY, message)


def _check(request: Request, context: Context) -> None:
    """Raise INVALID_REQUEST if a field is missing or invalid, or STREAMS_INVALID_TOPOLOGY."""
    topology, epoch = request.topology, request.member_epoch
    if not context.release.has_static_streams_members:
        need(request.instance_id is None, "Static membership is not yet supported.")
        need(request.task_offsets is None, "TaskOffsets are not supported yet.")
        need(request.task_end_offsets is None, "TaskEndOffsets are not supported yet.")
        need(not request.warmup_tasks, "WarmupTasks are not supported yet.")
    for of in () if topology is None else topology.subtopologies:
        need(not of.source_topic_regex, "Regular expressions for source topics are not supported yet.")
    need_text(request.member_id, "MemberId can't be empty.")
    need_text(request.group_id, "GroupId can't be empty.")
    need_text(request.instance_id, "InstanceId can't be empty.")
    need_text(request.rack_id, "RackId can't be empty.")
    tasks = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if epoch == JOINING:
        need(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        for kind, name in zip(tasks, ("Active", "Standby", "Warmup"), strict=True):
            need(kind == [], f"{name}Tasks must be empty when (re-)joining.")
        need(topology is not None, "Topology must be non-null when (re-)joining.")
        for of in () if topology is None else topology.subtopologies:
            for topic in of.state_changelog_topics:
                if topic.partitions:
                    raise _invalid(
                        f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                        f"{topic.partitions}."
                    )
    elif epoch == LEAVING_FOR_A_RESTART:
        need(request.instance_id is not None, "InstanceId can't be null.")
    else:
        need(epoch >= LEAVING, f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    need(tasks.count(None) in (0, 3), "If one task-type is non-null, all must be non-null.")
    need(epoch == JOINING or topology is None, "Topology can only be provided when (re-)joining.")


# Internal topics


async def _create(missing: list[InternalTopic], group: StreamsGroup, answer: Response, context: Context) -> None:
    """Create internal topics, or add to the response why they cannot be created."""
    if not context.allows_on_cluster(Operation.CREATE):
        refused = [
            topic.name for topic in missing if not context.allows(Operation.CREATE, ResourceType.TOPIC, topic.name)
        ]
        if refused:
            _add_detail(answer, f"; Unauthorized to CREATE on topics {', '.join(refused)}.")
            return
    failures = context.broker.coordinators.groups.topic_failures
    now_ms = context.node.clock.now_ms()
    known = {topic.name: failures[topic.name][0] for topic in missing if failures.get(topic.name, ("", 0))[1] > now_ms}
    if known:
        shown = ", ".join(f"{name} ({text})" for name, text in list(known.items())[:MOST_SHOWN])
        more = f" and {len(known) - MOST_SHOWN} more" if len(known) > MOST_SHOWN else ""
        _add_detail(answer, f"; Creation failed: {shown}{more}.")
    for topic in missing:
        if topic.name not in known and topic.name not in context.metadata.topics:
            try:
                await context.controller.change_and_save(partial(context.controller.create_topic, topic.wanted))
            except KafkaError as error:
                failures[topic.name] = text_of(error), now_ms + 2 * group.heartbeat_interval_ms


def _add_detail(answer: Response, text: str) -> None:
    for status in answer.status or ():
        if status.status_code == Status.MISSING_INTERNAL_TOPICS:
            status.status_detail += text
