"""`kafkalet.broker.config.entries`: values, sources and synonyms."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.entries import (
    Entry,
    Source,
    SynonymEntry,
    broker_entries,
    cluster_entries,
    new_topic_entries,
    topic_entries,
)
from kafkalet.broker.config.release import Release


def of_topic(name: str, topic: dict[str, str], config: BrokerConfig) -> Entry:
    return next(entry for entry in topic_entries(topic, config) if entry.name == name)


def of_broker(name: str, config: BrokerConfig, facts: dict[str, str] | None = None) -> Entry:
    return next(entry for entry in broker_entries(config, facts or {}) if entry.name == name)


def changed(static: dict[str, str], cluster_wide: dict[str, str], per_broker: dict[str, str]) -> BrokerConfig:
    config = BrokerConfig(static, Release.of("3.9"))
    config.reconfigure(cluster_wide, per_broker)
    return config


def test_most_specific_value_wins_and_all_values_are_synonyms() -> None:
    config = changed({"message.max.bytes": "1"}, {"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    entry = of_topic("max.message.bytes", {"max.message.bytes": "4"}, config)
    assert (entry.value, entry.source) == ("4", Source.TOPIC)
    assert entry.synonyms == [
        SynonymEntry("max.message.bytes", "4", Source.TOPIC),
        SynonymEntry("message.max.bytes", "3", Source.PER_BROKER),
        SynonymEntry("message.max.bytes", "2", Source.CLUSTER_WIDE),
        SynonymEntry("message.max.bytes", "1", Source.STATIC),
        SynonymEntry("message.max.bytes", "1048588", Source.DEFAULT),
    ]
    assert of_topic("max.message.bytes", {}, config)[1:3] == ("3", Source.PER_BROKER)
    assert of_broker("message.max.bytes", config)[1:3] == ("3", Source.PER_BROKER)


def test_values_are_shown_in_the_notation_of_kafka() -> None:
    topic = {"retention.ms": " 5 ", "preallocate": "TRUE", "cleanup.policy": "compact , delete"}
    shown = {entry.name: entry.value for entry in topic_entries(topic, BrokerConfig())}
    assert (shown["retention.ms"], shown["preallocate"], shown["cleanup.policy"]) == ("5", "true", "compact,delete")
    given = {entry.name: entry.value for entry in new_topic_entries(topic, BrokerConfig())}
    assert given["retention.ms"] == " 5 ", "CreateTopics returns the text of the request"


def test_doubles_are_formatted_like_in_java() -> None:
    assert of_topic("min.cleanable.dirty.ratio", {"min.cleanable.dirty.ratio": ".5"}, BrokerConfig()).value == "0.5"
    assert (
        of_topic("min.cleanable.dirty.ratio", {"min.cleanable.dirty.ratio": "1e-4"}, BrokerConfig()).value == "1.0E-4"
    )
    entry = of_broker("log.cleaner.io.max.bytes.per.second", BrokerConfig())
    assert entry.value == "1.7976931348623157E308"


def test_entries_of_a_new_topic_are_sorted_by_name() -> None:
    names = [entry.name for entry in new_topic_entries({}, BrokerConfig())]
    assert names == sorted(names)
    assert "internal.segment.bytes" not in names
    assert "internal.segment.bytes" in [
        entry.name for entry in new_topic_entries({"internal.segment.bytes": "100"}, BrokerConfig())
    ]


def test_synonyms_begin_with_the_name_of_the_property() -> None:
    config = changed({"log.retention.minutes": "1"}, {}, {})
    assert of_broker("log.retention.ms", config).synonyms == []
    assert of_broker("log.retention.minutes", config).synonyms == [
        SynonymEntry("log.retention.minutes", "1", Source.STATIC),
        SynonymEntry("log.retention.hours", "168", Source.DEFAULT),
    ]


def test_sensitive_values_are_hidden() -> None:
    entry = of_broker("ssl.key.password", BrokerConfig({"ssl.key.password": "secret"}))
    assert (entry.value, entry.is_sensitive) == (None, True)
    assert entry.synonyms == [SynonymEntry("ssl.key.password", None, Source.STATIC)]


@pytest.mark.parametrize(
    "name",
    [
        "log.initial.task.delay.ms",
        "producer.id.expiration.check.interval.ms",
        "server.max.startup.time.ms",
        "unclean.leader.election.interval.ms",
    ],
)
def test_internal_properties_of_kafka_are_returned_only_if_they_are_set(name: str) -> None:
    assert name not in [entry.name for entry in broker_entries(BrokerConfig(), {})]
    entry = of_broker(name, BrokerConfig({name: "200000"}))
    assert (entry.value, entry.is_sensitive) == ("200000", False)
    assert [synonym.source for synonym in entry.synonyms] == [Source.STATIC, Source.DEFAULT]


def test_facts_have_the_source_static() -> None:
    entry = of_broker("broker.id", BrokerConfig(), {"broker.id": "3"})
    assert (entry.value, entry.source, entry.read_only) == ("3", Source.STATIC, True)


def test_cluster_entries_contain_cluster_wide_properties_only() -> None:
    config = changed({"message.max.bytes": "1"}, {"message.max.bytes": "2"}, {})
    assert [(entry.name, entry.value, entry.synonyms) for entry in cluster_entries(config)] == [
        ("message.max.bytes", "2", [SynonymEntry("message.max.bytes", "2", Source.CLUSTER_WIDE)])
    ]
