"""The fields of requests whose values are reserved, or that have few valid values.

A field that only brokers set must have its default in the requests of a client. The paths in the tables name the fields
as they are declared, without positions in arrays.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.fields import EVERY, Versions
from kafkalet.protocol.wire import ZERO_UUID

from .batches import BatchSummary
from .finding import Claim, Severity
from .reading import Path, Reading

RESERVED = Claim("reserved-field", "Fields that only brokers set have their default values.", "message JSON of Kafka")
RESERVED_NOTE = Claim(*RESERVED[:3], Severity.NOTE)
ENUMERATION = Claim("enumeration", "A field with few valid values has one of them.", "message JSON of Kafka")
RANGE = Claim("range", "Sizes, times and offsets are not negative unless -1 has a meaning.", "message JSON of Kafka")
RANGE_NOTE = Claim(*RANGE[:3], Severity.NOTE)
TOPIC_ID = Claim("topic-id", "A topic is named by its id or by its name, as the version requires.", "KIP-516")
CLIENT_VERSION = Claim("client-version", "Versions that only brokers use are not sent by clients.", "KIP-890")
SOFTWARE = Claim(
    "client-software", "A client names its software and its version.", "KIP-511, ApiVersionsRequest.isValid"
)
EMPTY = Claim("empty", "Identifiers that must not be empty are not empty.", "KafkaApis, GroupCoordinatorService")
HEARTBEAT_MEMBER = Claim("empty", "A heartbeat has a member id.", "AbstractCoordinator.HeartbeatThread", Severity.NOTE)
NO_RECORDS = Claim("no-records", "A Produce request has records for each of its partitions.", "LogValidator")
ACKS = Claim("idempotent-acks", "An idempotent producer uses acks=-1.", "KIP-98, ProducerConfig", Severity.NOTE)
TRANSACTIONAL = Claim(
    "transactional-records",
    "Transactional batches are sent with a transactional id, and requests with one contain transactional batches.",
    "KIP-98, RequestUtils.hasTransactionalRecords",
)


class Check(NamedTuple):
    """The valid values of one field."""

    versions: Versions
    claim: Claim
    is_valid: Callable[[Any], bool]
    text: str
    """A description of the valid values."""


class StructCheck(NamedTuple):
    """The valid combinations of the fields of one struct."""

    versions: Versions
    claim: Claim
    judge: Callable[[dict[str, Any]], str | None]
    """Return what is wrong with the values of the fields, or None."""


def _is(*allowed: Any) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: value >= least


def _not_empty(value: Any) -> bool:
    return value is None or len(value) > 0


def _reserved(default: Any, text: str, versions: Versions = EVERY) -> Check:
    return Check(versions, RESERVED, _is(default), text)


def _unless_null(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_valid(value)


def _is_software(value: Any) -> bool:
    return re.fullmatch(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", value) is not None


_SOFTWARE_TEXT = "it consists of letters, digits, hyphens and dots, and does not begin or end with the last two"
_ISOLATION = Check(EVERY, ENUMERATION, _is(0, 1), "0 is read_uncommitted and 1 is read_committed")
_GROUP_ID = Check(EVERY, EMPTY, _not_empty, "a group id must not be empty")
_ZERO_ID = Check(EVERY, TOPIC_ID, lambda value: value != ZERO_UUID, "the zero id names no topic")
_LENGTH_OF_TIME = Check(EVERY, RANGE, _at_least(0), "a time must not be negative")
_OFFSET = Check(EVERY, RANGE_NOTE, _at_least(0), "an offset is not negative")
_EPOCH = Check(EVERY, RANGE, _at_least(-1), "an epoch is -1 if it is unknown, or not negative")
_CONSUMER = "a consumer sends -1"


def _versions(text: str, check: Check) -> Check:
    return check._replace(versions=Versions.parse(text))


CHECKS: dict[tuple[Api, str], list[Check]] = {
    (Api.PRODUCE, "acks"): [Check(EVERY, ENUMERATION, _is(-1, 0, 1), "-1, 0 and 1 are valid")],
    (Api.PRODUCE, "timeout_ms"): [_LENGTH_OF_TIME],
    (Api.PRODUCE, "topic_data.topic_id"): [_versions("13+", _ZERO_ID)],
    (Api.PRODUCE, "topic_data.partition_data.index"): [
        Check(EVERY, RANGE, _at_least(0), "a partition is not negative"),
    ],
    (Api.PRODUCE, "topic_data.partition_data.records"): [
        Check(EVERY, NO_RECORDS, lambda value: value is not None, "records must not be null"),
    ],
    (Api.FETCH, "cluster_id"): [_reserved(None, "only the replicas of the metadata log send a cluster id")],
    (Api.FETCH, "replica_id"): [_reserved(-1, _CONSUMER)],
    (Api.FETCH, "replica_state"): [_reserved(None, "a consumer omits it")],
    (Api.FETCH, "max_wait_ms"): [_LENGTH_OF_TIME],
    (Api.FETCH, "min_bytes"): [Check(EVERY, RANGE, _at_least(0), "a size is not negative")],
    (Api.FETCH, "max_bytes"): [Check(EVERY, RANGE, _at_least(0), "a size is not negative")],
    (Api.FETCH, "isolation_level"): [_ISOLATION],
    (Api.FETCH, "session_id"): [Check(EVERY, RANGE, _at_least(0), "a session id is not negative")],
    (Api.FETCH, "session_epoch"): [_EPOCH],
    (Api.FETCH, "topics.topic_id"): [_versions("13+", _ZERO_ID)],
    (Api.FETCH, "forgotten_topics_data.topic_id"): [_versions("13+", _ZERO_ID)],
    (Api.FETCH, "topics.partitions.current_leader_epoch"): [_EPOCH],
    (Api.FETCH, "topics.partitions.last_fetched_epoch"): [_EPOCH],
    (Api.FETCH, "topics.partitions.fetch_offset"): [_OFFSET],
    (Api.FETCH, "topics.partitions.log_start_offset"): [
        Check(EVERY, RESERVED_NOTE, _is(-1), "only followers send a log start offset; " + _CONSUMER),
    ],
    (Api.FETCH, "topics.partitions.partition_max_bytes"): [
        Check(EVERY, RANGE, _at_least(0), "a size is not negative"),
    ],
    (Api.FETCH, "topics.partitions.replica_directory_id"): [_reserved(ZERO_UUID, "only followers send it")],
    (Api.FETCH, "topics.partitions.high_watermark"): [_reserved((1 << 63) - 1, "only followers send it")],
    (Api.LIST_OFFSETS, "replica_id"): [
        Check(EVERY, RESERVED, _is(-1, -2), "a client sends -1, or -2 for debugging"),
    ],
    (Api.LIST_OFFSETS, "isolation_level"): [_ISOLATION],
    (Api.LIST_OFFSETS, "topics.partitions.current_leader_epoch"): [_EPOCH],
    (Api.LIST_OFFSETS, "topics.partitions.timestamp"): [
        Check(Versions.parse("0-6"), ENUMERATION, _at_least(-2), "-1 and -2 are the only special timestamps"),
        Check(Versions.parse("7"), ENUMERATION, _at_least(-3), "-1 to -3 are the only special timestamps"),
        Check(Versions.parse("8"), ENUMERATION, _at_least(-4), "-1 to -4 are the only special timestamps"),
        Check(Versions.parse("9-10"), ENUMERATION, _at_least(-5), "-1 to -5 are the only special timestamps"),
        Check(Versions.parse("11+"), ENUMERATION, _at_least(-6), "-1 to -6 are the only special timestamps"),
    ],
    (Api.LIST_OFFSETS, "topics.partitions.max_num_offsets"): [
        Check(EVERY, RANGE, _at_least(1), "at least 1 is needed")
    ],
    (Api.LIST_OFFSETS, "timeout_ms"): [_LENGTH_OF_TIME],
    (Api.OFFSET_FOR_LEADER_EPOCH, "replica_id"): [
        Check(EVERY, RESERVED, _is(-1, -2), "a client sends -1, or -2 for debugging"),
    ],
    (Api.OFFSET_FOR_LEADER_EPOCH, "topics.partitions.current_leader_epoch"): [_EPOCH],
    (Api.OFFSET_FOR_LEADER_EPOCH, "topics.partitions.leader_epoch"): [
        Check(EVERY, RANGE, _at_least(0), "the epoch that is looked up must be known"),
    ],
    (Api.OFFSET_COMMIT, "group_id"): [_GROUP_ID],
    (Api.OFFSET_COMMIT, "topics.partitions.committed_offset"): [_OFFSET],
    (Api.OFFSET_COMMIT, "topics.partitions.committed_leader_epoch"): [_EPOCH],
    (Api.OFFSET_COMMIT, "topics.topic_id"): [_versions("10+", _ZERO_ID)],
    (Api.TXN_OFFSET_COMMIT, "group_id"): [_GROUP_ID],
    (Api.TXN_OFFSET_COMMIT, "transactional_id"): [Check(EVERY, EMPTY, _not_empty, "a transactional id is not empty")],
    (Api.TXN_OFFSET_COMMIT, "producer_id"): [Check(EVERY, RANGE, _at_least(0), "a producer id is not negative")],
    (Api.TXN_OFFSET_COMMIT, "producer_epoch"): [Check(EVERY, RANGE, _at_least(0), "a producer epoch is not negative")],
    (Api.TXN_OFFSET_COMMIT, "topics.partitions.committed_leader_epoch"): [_EPOCH],
    (Api.TXN_OFFSET_COMMIT, "topics.topic_id"): [_versions("6+", _ZERO_ID)],
    (Api.FIND_COORDINATOR, "key_type"): [
        Check(Versions.parse("1-5"), ENUMERATION, _is(0, 1), "0 is a group and 1 a transactional id"),
        Check(
            Versions.parse("6+"), ENUMERATION, _is(0, 1, 2), "0 is a group, 1 a transactional id, 2 a share partition"
        ),
    ],
    (Api.FIND_COORDINATOR, "coordinator_keys"): [Check(EVERY, EMPTY, lambda count: count != 0, "one key is needed")],
    (Api.JOIN_GROUP, "group_id"): [_GROUP_ID],
    (Api.JOIN_GROUP, "session_timeout_ms"): [Check(EVERY, RANGE, _at_least(1), "a session has a positive timeout")],
    (Api.JOIN_GROUP, "rebalance_timeout_ms"): [Check(EVERY, RANGE, _at_least(-1), "-1 stands for the session timeout")],
    (Api.JOIN_GROUP, "protocol_type"): [Check(EVERY, EMPTY, _not_empty, "a protocol type must not be empty")],
    (Api.JOIN_GROUP, "protocols"): [Check(EVERY, EMPTY, lambda count: count != 0, "a member needs a protocol")],
    (Api.JOIN_GROUP, "group_instance_id"): [Check(EVERY, EMPTY, _not_empty, "an instance id must not be empty")],
    (Api.SYNC_GROUP, "group_id"): [_GROUP_ID],
    (Api.SYNC_GROUP, "member_id"): [Check(EVERY, EMPTY, _not_empty, "a member id must not be empty")],
    (Api.HEARTBEAT, "group_id"): [_GROUP_ID],
    # A note: if SyncGroup or a commit fails with UNKNOWN_MEMBER_ID, the Java client resets its generation while its
    # heartbeat thread may be about to send one (AbstractCoordinator.resetStateAndGeneration, sendHeartbeatRequest).
    (Api.HEARTBEAT, "member_id"): [Check(EVERY, HEARTBEAT_MEMBER, _not_empty, "a member id must not be empty")],
    (Api.LEAVE_GROUP, "group_id"): [_GROUP_ID],
    (Api.LEAVE_GROUP, "members"): [Check(EVERY, EMPTY, lambda count: count != 0, "one member must be named")],
    (Api.CONSUMER_GROUP_HEARTBEAT, "group_id"): [_GROUP_ID],
    (Api.CONSUMER_GROUP_HEARTBEAT, "member_epoch"): [
        Check(EVERY, RANGE, _at_least(-2), "0 joins, -1 and -2 leave"),
    ],
    (Api.CONSUMER_GROUP_HEARTBEAT, "rebalance_timeout_ms"): [
        Check(EVERY, RANGE, _unless_null(lambda value: value == -1 or value > 0), "-1 means unchanged"),
    ],
    (Api.CONSUMER_GROUP_HEARTBEAT, "instance_id"): [Check(EVERY, EMPTY, _not_empty, "an instance id is not empty")],
    (Api.CONSUMER_GROUP_HEARTBEAT, "topic_partitions.topic_id"): [_ZERO_ID],
    (Api.INIT_PRODUCER_ID, "transactional_id"): [Check(EVERY, EMPTY, _not_empty, "a transactional id is not empty")],
    (Api.END_TXN, "transactional_id"): [Check(EVERY, EMPTY, _not_empty, "a transactional id is not empty")],
    (Api.END_TXN, "producer_id"): [Check(EVERY, RANGE, _at_least(0), "a producer id is not negative")],
    (Api.END_TXN, "producer_epoch"): [Check(EVERY, RANGE, _at_least(0), "a producer epoch is not negative")],
    (Api.ADD_OFFSETS_TO_TXN, "transactional_id"): [Check(EVERY, EMPTY, _not_empty, "a transactional id is not empty")],
    (Api.ADD_OFFSETS_TO_TXN, "group_id"): [_GROUP_ID],
    (Api.ADD_PARTITIONS_TO_TXN, "transactions"): [
        Check(Versions.parse("4+"), CLIENT_VERSION, lambda count: False, "clients use at most version 3"),
    ],
    (Api.CREATE_TOPICS, "timeout_ms"): [_LENGTH_OF_TIME],
    (Api.DELETE_TOPICS, "timeout_ms"): [_LENGTH_OF_TIME],
    (Api.API_VERSIONS, "client_software_name"): [Check(EVERY, SOFTWARE, _is_software, _SOFTWARE_TEXT)],
    (Api.API_VERSIONS, "client_software_version"): [Check(EVERY, SOFTWARE, _is_software, _SOFTWARE_TEXT)],
}
"""The checks of single fields. An array is checked by the number of its elements."""


def _metadata_topic_by_name(topic: dict[str, Any]) -> str | None:
    if topic["topic_id"] != ZERO_UUID:
        return "the topic id is set, which brokers accept since version 12"
    return "the topic has neither a name nor an id" if topic["name"] is None else None


def _metadata_topic(topic: dict[str, Any]) -> str | None:
    if topic["topic_id"] == ZERO_UUID and topic["name"] is None:
        return "the topic has neither a name nor an id"
    if topic["topic_id"] != ZERO_UUID and topic["name"]:  # the Java client sends an empty name with an id
        return f"the topic has an id and the name {topic['name']!r}"
    return None


def _producer_and_epoch(request: dict[str, Any]) -> str | None:
    producer_id, epoch = request["producer_id"], request["producer_epoch"]
    if (producer_id < 0) != (epoch < 0):
        return f"producer_id is {producer_id} and producer_epoch is {epoch}; either both are -1 or none is"
    return None


def _instance_leaves(request: dict[str, Any]) -> str | None:
    if request["member_epoch"] == -2 and request["instance_id"] is None:
        return "the member epoch is -2, but only static members leave temporarily"
    return None


STRUCT_CHECKS: dict[tuple[Api, str], list[StructCheck]] = {
    (Api.METADATA, "topics"): [
        StructCheck(Versions.parse("10-11"), TOPIC_ID, _metadata_topic_by_name),
        StructCheck(Versions.parse("12+"), TOPIC_ID, _metadata_topic),
    ],
    (Api.INIT_PRODUCER_ID, ""): [StructCheck(Versions.parse("3+"), RANGE, _producer_and_epoch)],
    (Api.CONSUMER_GROUP_HEARTBEAT, ""): [StructCheck(EVERY, RANGE, _instance_leaves)],
}
"""The checks of several fields of a struct; the path of the message itself is empty."""


def check_produce(reading: Reading, request: dict[str, Any], batches: list[BatchSummary]) -> None:
    """Check that the batches of a Produce request agree with its other fields."""
    transactional_id = request.get("transactional_id")
    for batch in batches:
        path: Path = batch.path
        if batch.is_transactional and transactional_id is None:
            reading.complain(TRANSACTIONAL, batch.position, path, "the batch is transactional, the request is not")
        if transactional_id is not None and not batch.is_transactional:
            text = f"the request has the transactional id {transactional_id!r}, but the batch is not transactional"
            reading.complain(TRANSACTIONAL, batch.position, path, text)
        if batch.producer_id >= 0 and request["acks"] != -1:
            reading.complain(ACKS, batch.position, path, f"the batch has a producer id, but acks is {request['acks']}")
