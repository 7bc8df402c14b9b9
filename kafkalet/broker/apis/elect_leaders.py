"""ElectLeaders v0-2: trigger leader elections for partitions (KIP-183).

v1  adds unclean elections and a top-level error code (KIP-460)

A preferred election makes the first replica of a partition its leader again. An unclean election makes any available
replica the leader of a partition that has none. If the request is for all partitions, the response leaves out
partitions that need no election, but still lists their topics.

Source: org.apache.kafka.controller.ReplicationControlManager.electLeaders.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

from kafkalet.broker.cluster.metadata import NO_LEADER
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

Topic = ElectLeadersResponse.Topic
Answer = ElectLeadersResponse.Topic.Partition


class Election(IntEnum):
    PREFERRED = 0
    UNCLEAN = 1


def handle(request: ElectLeadersRequest, context: Context) -> ElectLeadersResponse:
    if not context.release.runs_without_zookeeper and not context.allows_on_cluster(Operation.ALTER):
        raise KafkaError(Code.CLUSTER_AUTHORIZATION_FAILED)
    context.require_on_cluster(Operation.ALTER)
    if context.release.runs_without_zookeeper:
        if request.topic_partitions == []:
            return ElectLeadersResponse(replica_election_results=[])
        if request.timeout_ms <= 0:
            raise KafkaError(Code.REQUEST_TIMED_OUT)  # Kafka checks the timeout before it reads the request
    try:
        kind = Election(request.election_type)
    except ValueError:
        if not context.release.runs_without_zookeeper:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR) from None
        raise KafkaError(Code.INVALID_REQUEST, f"Unknown election type {request.election_type}") from None
    topics = [
        Topic(topic=name, partition_result=list(_elect_each(name, partitions, kind, context)))
        for name, partitions in _wanted(request, context)
    ]
    if request.topic_partitions is None:
        for topic in topics:
            results = topic.partition_result
            topic.partition_result = [one for one in results if one.error_code != Code.ELECTION_NOT_NEEDED]
    context.controller.save()
    if not context.release.runs_without_zookeeper:
        topics = _without_duplicates(topics)
    return ElectLeadersResponse(replica_election_results=topics)


def _without_duplicates(topics: list[Topic]) -> list[Topic]:
    """Drop duplicate partitions, and topics without partitions, as brokers with ZooKeeper do."""
    found: dict[str, dict[int, Answer]] = {}
    for topic in topics:
        for answer in topic.partition_result:
            found.setdefault(topic.topic, {})[answer.partition_id] = answer
    return [Topic(topic=name, partition_result=list(answers.values())) for name, answers in found.items()]


def _wanted(request: ElectLeadersRequest, context: Context) -> Iterator[tuple[str, Sequence[int]]]:
    if request.topic_partitions is not None:
        for topic in request.topic_partitions:
            yield topic.topic, topic.partitions
        return
    known: Mapping[str, object] = context.metadata.topics
    for name in list(known):
        yield name, range(len(context.metadata.topics[name].partitions))


def _elect_each(name: str, partitions: Sequence[int], kind: Election, context: Context) -> Iterator[Answer]:
    for index in partitions:
        answer = Answer(partition_id=index, error_message=None)
        try:
            _elect(name, index, kind, context)
        except KafkaError as error:
            answer.error_code, answer.error_message = error.code, error.message
        yield answer


def _elect(name: str, index: int, kind: Election, context: Context) -> None:
    controller = context.controller
    topic = controller.metadata.topics.get(name)
    if topic is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    state = controller.metadata.partition(name, index)
    if state is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    preferred = state.replicas[0]
    if state.leader == preferred or (kind is Election.UNCLEAN and state.leader != NO_LEADER):
        raise KafkaError(Code.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    if kind is Election.PREFERRED:
        if preferred not in state.isr or preferred in controller.leadership.offline_replicas(name, state):
            raise KafkaError(Code.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        controller.leadership.elect(topic, state, preferred)
    elif not controller.leadership.elect(topic, state, unclean=True):
        raise KafkaError(Code.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
