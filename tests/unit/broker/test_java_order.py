"""The iteration order of Java's hash tables; the expected orders were printed by Java 17 and Kafka's
TimelineHashMap."""

import pytest

from kafkalet.broker.java_order import (
    _remembered_hash,
    grown,
    java_hash,
    order_of_copy,
    order_of_numbers,
    order_of_set,
    order_of_strings,
    set_of,
    string_hash,
    timeline_order,
    uuid_hash,
    with_capacity,
)


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("uniform", 4008040884),
        ("polygenelubricants", 1 << 31),
        ("\U0001f600", 1772899),  # two UTF-16 code units
    ],
)
def test_strings_hash_as_in_java(text: str, hashed: int) -> None:
    assert string_hash(text) == hashed


def test_hashes_of_long_strings_are_not_cached() -> None:
    before = _remembered_hash.cache_info().currsize
    assert string_hash("a" * 32767) == java_hash("a" * 32767)
    assert _remembered_hash.cache_info().currsize == before


def test_uuids_hash_as_in_kafka() -> None:
    assert uuid_hash(bytes.fromhex("0123456789abcdeffedcba9876543210")) == 0


@pytest.mark.parametrize(("count", "slots"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64)])
def test_map_doubles_when_three_quarters_full(count: int, slots: int) -> None:
    assert grown(count) == slots


@pytest.mark.parametrize(("count", "slots"), [(0, 16), (11, 16), (12, 32), (24, 64), (47, 64), (48, 128)])
def test_set_of_collection_has_enough_slots_from_start(count: int, slots: int) -> None:
    assert set_of(count) == slots


def test_map_with_small_initial_capacity_is_small() -> None:
    assert [with_capacity(count) for count in (0, 1, 2, 3, 5)] == [1, 1, 2, 4, 8]


def test_topic_names_are_in_order_of_hash_set() -> None:
    assert order_of_set(["codecs", "plain"]) == ["plain", "codecs"]  # recorded from ConsumerGroupDescribe of 4.4


def test_mechanisms_have_the_order_of_a_kafka_broker() -> None:
    mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    assert order_of_strings(mechanisms) == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]  # Kafka 3.9


def test_strings_in_the_same_slot_keep_their_order() -> None:
    assert order_of_strings(["Aa", "BB"]) == ["Aa", "BB"]
    assert order_of_strings(["BB", "Aa"]) == ["BB", "Aa"]


def test_copy_of_a_map_has_as_many_slots_as_it_needs() -> None:
    assert order_of_strings(["a", "d"]) == ["a", "d"]  # slots 1 and 4 of 16
    assert order_of_copy(["a", "d"]) == ["d", "a"]  # slots 1 and 0 of 4


def test_strings_are_in_order_of_hash_map() -> None:
    assert order_of_strings([f"member-{index}" for index in range(12)]) == [
        f"member-{index}" for index in [1, 2, 0, 5, 6, 3, 4, 9, 11, 10, 7, 8]
    ]


def test_members_are_in_order_of_timeline_map() -> None:
    assert timeline_order([f"member-{index}" for index in range(12)], 12) == [
        f"member-{index}" for index in [3, 10, 8, 0, 5, 2, 7, 4, 11, 9, 1, 6]
    ]


def test_numbers_beyond_slots_wrap_around() -> None:
    assert order_of_numbers([0, 16, 1, 17, 2], 16) == [0, 16, 1, 17, 2]
    assert order_of_numbers([5, 3, 1], 16) == [1, 3, 5]
    assert order_of_numbers([], 16) == []
