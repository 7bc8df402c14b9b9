"""`kafkalet.broker.groups.classic.records`: the records of classic groups, as Kafka writes them."""

from kafkalet.broker.groups.classic.members import ClassicMember, ClassicMembers
from kafkalet.broker.groups.classic.records import group_record, member_of, read_key, read_value, tombstone

KEY = b"\0\2\0\1g"


def group() -> ClassicMembers:
    members = ClassicMembers()
    members.add(
        ClassicMember(
            "m1",
            "i",
            "c",
            "/h",
            session_timeout_ms=10,
            rebalance_timeout_ms=20,
            protocol_type="consumer",
            protocols={"range": b"sub", "other": b"x"},
        )
    )
    return members


def record(members: ClassicMembers, version: int = 3, protocol_name: str | None = "range") -> bytes:
    written = group_record(
        "g",
        members,
        {"m1": b"asg"},
        generation=7,
        protocol_name=protocol_name,
        state_since_ms=5,
        version=version,
    )
    assert written.key == KEY
    assert written.value is not None
    return written.value


def test_group_with_member_is_encoded_byte_for_byte() -> None:
    assert record(group()) == b"".join(
        (
            b"\0\3",
            b"\0\x08consumer",
            b"\0\0\0\7",
            b"\0\5range",
            b"\0\2m1",
            b"\0\0\0\0\0\0\0\5",
            b"\0\0\0\1",
            b"\0\2m1" + b"\0\1i" + b"\0\1c" + b"\0\2/h",
            b"\0\0\0\x14" + b"\0\0\0\x0a",
            b"\0\0\0\3sub" + b"\0\0\0\3asg",
        )
    )


def test_empty_group_is_encoded_byte_for_byte() -> None:
    members = group()
    members.remove("m1")
    value = record(members, protocol_name=None)
    assert value == b"\0\3" + b"\0\x08consumer" + b"\0\0\0\7" + b"\xff\xff" * 2 + b"\0" * 7 + b"\5" + b"\0\0\0\0"


def test_value_survives_round_trip_in_every_version() -> None:
    for version in range(5):
        value = read_value(record(group(), version))
        assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("consumer", 7, "range", "m1")
        member = member_of(value, value.members[0])
        assert (member.member_id, member.protocols, member.assignment) == ("m1", {"range": b"sub"}, b"asg")
        assert member.rebalance_timeout_ms == (20 if version >= 1 else 10)
        assert member.instance_id == ("i" if version >= 3 else None)


def test_unknown_fields_of_later_version_are_ignored() -> None:
    value = bytearray(record(group(), 4))
    value[:2] = b"\0\x09"
    assert read_value(bytes(value)).generation == 7


def test_tombstone_has_key_only() -> None:
    assert tombstone("g") == (KEY, None)
    assert read_key(KEY[2:]) == "g"
