"""Structs that the messages and the records of streams groups share (KIP-1071)."""

from kafkalet.protocol.schema import Struct
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String, UInt16


class KeyValue(Struct):
    key: String
    value: String


class Endpoint(Struct):
    host: String
    port: UInt16


class TaskIds(Struct):
    subtopology_id: String
    partitions: list[Int32]


class TaskOffset(Struct):
    subtopology_id: String
    partition: Int32
    offset: Int64


class TopicInfo(Struct):
    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: list[KeyValue]


class CopartitionGroup(Struct):
    source_topics: list[Int16]
    source_topic_regex: list[Int16]
    repartition_source_topics: list[Int16]


class Subtopology(Struct):
    subtopology_id: String
    source_topics: list[String]
    source_topic_regex: list[String]
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[String]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]


class TopologyNode(Struct):
    name: String
    node_type: Int8
    source_topics: list[String]
    sink_topic: String | None = None
    stores: list[String]
    successors: list[String]


class TopologyDescription(Struct):
    class Subtopology(Struct):
        subtopology_id: String
        nodes: list[TopologyNode]

    class GlobalStore(Struct):
        source: TopologyNode
        processor: TopologyNode

    subtopologies: list[Subtopology]
    global_stores: list[GlobalStore]
