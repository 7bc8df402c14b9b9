"""The records of classic groups in __consumer_offsets.

    key     int16 2 | GroupMetadataKey
    value   int16 version | GroupMetadataValue; a tombstone deletes the group

A record stores a generation whose assignments are complete, or an empty group. For each member it contains only the
metadata of the protocol that the group has chosen.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.newGroupMetadataRecord.
"""

from collections.abc import Mapping
from struct import Struct

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.messages.offsets_topic import GroupMetadataKey, GroupMetadataValue

from .members import ClassicMember, ClassicMembers

KEY_VERSION = 2
NO_TIMESTAMP = -1

_VERSION = Struct(">h")


def group_record(
    group_id: str,
    members: ClassicMembers,
    assignments: Mapping[str, bytes],
    *,
    generation: int,
    protocol_name: str | None,
    state_since_ms: int | None,
    version: int,
) -> StateRecord:
    """Return the record of a group with its members and their assignments. `version` is the version of the value."""
    value = GroupMetadataValue(
        protocol_type=members.protocol_type or "",
        generation=generation,
        protocol=protocol_name,
        leader=members.leader_id,
        current_state_timestamp=NO_TIMESTAMP if state_since_ms is None else state_since_ms,
        members=[
            GroupMetadataValue.Member(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.protocols[protocol_name] if protocol_name is not None else b"",
                assignment=assignments.get(member.member_id, b""),
            )
            for member in members
        ],
    )
    return StateRecord(_key(group_id), _VERSION.pack(version) + value.encode(version))


def tombstone(group_id: str) -> StateRecord:
    return StateRecord(_key(group_id), None)


def read_key(key: bytes) -> str:
    """Return the group id in a key. The key is passed without its version."""
    return GroupMetadataKey.decode(key, KEY_VERSION).group


def read_value(value: bytes) -> GroupMetadataValue:
    """Decode a value. Unknown fields of later versions are ignored."""
    (version,) = _VERSION.unpack_from(value)
    return GroupMetadataValue.decode(value, min(version, GroupMetadataValue.VERSIONS.high), _VERSION.size)


def member_of(value: GroupMetadataValue, member: GroupMetadataValue.Member) -> ClassicMember:
    """Create a member from a replayed record."""
    unsaid = member.rebalance_timeout == -1
    return ClassicMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        session_timeout_ms=member.session_timeout,
        rebalance_timeout_ms=member.session_timeout if unsaid else member.rebalance_timeout,
        protocol_type=value.protocol_type,
        protocols={value.protocol or "": member.subscription},
        assignment=member.assignment,
    )


def _key(group_id: str) -> bytes:
    return _VERSION.pack(KEY_VERSION) + GroupMetadataKey(group=group_id).encode(KEY_VERSION)
