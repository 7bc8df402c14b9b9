"""Routes of topics and partitions: list, create and delete them."""

from typing import Annotated

from kafkalet.control import fields, state
from kafkalet.control.data import mark_text
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import INT32_MAX, Field, Integer, Json, ListOf, Object, Text

routes = Routes("topics", "Topics and their partitions.")

MAX_PARTITIONS = 100_000
TOPICS = Object("Topics", "The topics.", Field("topics", ListOf(state.TOPIC), "The topics, by name."))
MARK = Object(
    "Mark",
    "A position at the end of a topic.",
    Field("mark", Text(), "The mark, to pass as `since`. Its format may change."),
)


@routes.get("/v1/topics", response=TOPICS)
def list_topics(
    call: Call,
    internal: Annotated[bool, "Whether to include the topics of the brokers, like `__consumer_offsets`."] = False,
) -> Json:
    """Return all topics with the state of their partitions."""
    return {"topics": state.read_topics(call.cluster._server, internal=internal)}


@routes.post(
    "/v1/topics",
    "A topic to create. What is left out has the defaults of the brokers.",
    name="NewTopic",
    response=state.TOPIC,
    status=201,
)
def create_topic(
    call: Call,
    name: Annotated[str, Text(least=1), "The name."],
    partitions: Annotated[int | None, Integer(1, MAX_PARTITIONS), "The number of partitions."] = None,
    replication_factor: Annotated[int | None, Integer(1, 32767), "The number of replicas of each partition."] = None,
    config: Annotated[dict[str, str] | None, 'Properties of the topic, as in `{"retention.ms": "1000"}`.'] = None,
    assignments: Annotated[
        list[Json] | None,
        ListOf(ListOf(Integer(0, INT32_MAX), least=1), least=1, most=MAX_PARTITIONS),
        "The brokers of each partition, the leader first, instead of the two numbers.",
    ] = None,
) -> Json:
    """Create a topic."""
    call.cluster.topic(name)._create(partitions, config, replication_factor, assignments)
    return _topic(call, name)


@routes.get("/v1/topics/{name}", response=state.TOPIC)
def get_topic(call: Call, name: fields.Name) -> Json:
    """Return a topic with the state of its partitions."""
    return _topic(call, name)


@routes.delete("/v1/topics/{name}")
def delete_topic(call: Call, name: fields.Name) -> None:
    """Delete a topic and its records."""
    call.cluster.topic(name).delete()


@routes.post("/v1/topics/{name}/add-partitions", "Partitions to add.", response=state.TOPIC)
def add_partitions(
    call: Call, name: fields.Name, count: Annotated[int, Integer(1, MAX_PARTITIONS), "The number of new partitions."]
) -> Json:
    """Add partitions to a topic, as CreatePartitions does. Their replicas are spread over the brokers."""
    call.cluster.topic(name).add_partitions(count)
    return _topic(call, name)


@routes.post("/v1/topics/{name}/configure", "Properties to set or to remove.", response=state.TOPIC)
def configure_topic(
    call: Call,
    name: fields.Name,
    config: Annotated[dict[str, str | None], 'The properties, as in `{"retention.ms": "1000"}`. null removes one.'],
) -> Json:
    """Change properties of a topic. Others stay as they are."""
    call.cluster.topic(name).configure(config)
    return _topic(call, name)


@routes.get("/v1/topics/{name}/mark", response=MARK)
def mark_topic(call: Call, name: fields.Name) -> Json:
    """Return a mark of the current end of a topic. A read or wait that gets it as `since` skips earlier records.

    Records that replace older ones are later, too: those that follow a truncation or a restore, and all records of a
    topic that is created again. The topic need not exist yet.
    """
    return {"mark": mark_text(call.cluster.topic(name).mark())}


@routes.get("/v1/topics/{name}/partitions/{partition}", response=state.PARTITION)
def get_partition(call: Call, name: fields.Name, partition: fields.Partition) -> Json:
    """Return the state of a partition and the offsets of its log."""
    server = call.cluster._server
    return server.call(lambda: state.partition(server, name, server.metadata.existing_partition(name, partition)))


def _topic(call: Call, name: str) -> Json:
    server = call.cluster._server
    for topic in state.read_topics(server, [name]):
        return topic
    return server.call(lambda: server.metadata.existing_topic(name))  # raises the error of a topic that does not exist
