"""The order of strings in Java's HashMap."""

from kafkalet.broker.security.sasl.java_hashing import copy_table_size, hash_order


def test_mechanisms_have_the_order_of_a_kafka_broker() -> None:
    mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    assert hash_order(mechanisms) == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]  # asked from Kafka 3.9


def test_strings_in_the_same_bucket_keep_their_order_and_appear_once() -> None:
    assert hash_order(["Aa", "BB", "Aa"]) == ["Aa", "BB"]
    assert hash_order(["BB", "Aa"]) == ["BB", "Aa"]


def test_copy_of_a_map_has_the_table_size_of_java() -> None:
    assert [copy_table_size(count) for count in (0, 1, 2, 3, 6, 7)] == [1, 2, 4, 8, 16, 16]
