"""Dead-letter topics of share groups (KIP-1191): which records are written to them, and with which headers."""

from kafkalet_conformance.building import NO_RETENTION, ScenarioBuilder, Step, at, batch, record
from kafkalet_conformance.shares import ACCEPT, GROUP_RESOURCE, REJECT, RELEASE, M, Reader, Share, of
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .configurations import SET, alter

scenario = Scenarios("share_groups", KAFKA_4_4, ShareFetch=2)


def letter_topic(ask: ScenarioBuilder, name: str = "dlq.<unique>", enabled: str = "true") -> str:
    """Create a topic for dead letters, by default with the prefix of errors.deadletterqueue.topic.name.prefix."""
    d = ask.let("d", name)
    configs = NO_RETENTION | {"errors.deadletterqueue.group.enable": enabled}
    made: Step = {"name": d, "num_partitions": 1, "replication_factor": 1}
    made["configs"] = [{"name": key, "value": value} for key, value in configs.items()]
    ask.setup("CreateTopics", 7, {"topics": [made]})
    ask.wait_for_leader(d)
    return d


def dead_letters(ask: ScenarioBuilder, case: str, topic: str, count: int) -> None:
    """Wait until the dead-letter topic has as many records, and fetch them."""
    asked = {"replica_id": -1, "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    ask.until("ListOffsets", 1, asked, "topics.0.partitions.0.offset", count)
    ask.fetch(case, at(topic))


@scenario("KIP-1191 SharePartition", level="must")
def share_dead_letter_rejected(ask: ScenarioBuilder) -> None:
    """A rejected record is written to the dead-letter topic of its group, with headers that say where it comes from."""
    t, d = ask.topic(), letter_topic(ask)
    ask.produce(t, batch(record(10, "v0", "k0", [("h", "1")]), record(20, "v1"), record(30, "v2")))
    group = Share(ask)
    group.joined(M, t, errors_deadletterqueue_topic_name=d)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("reject one", of("$t.id", (0, 0, REJECT)))
    dead_letters(ask, "one dead letter", d, 1)
    reader.acknowledge("reject and accept", of("$t.id", (1, 2, (REJECT, ACCEPT))))
    dead_letters(ask, "two dead letters", d, 2)
    group.offsets("offsets", t)


@scenario("KIP-1191 SharePartition", level="must")
def share_dead_letter_copied(ask: ScenarioBuilder) -> None:
    """With errors.deadletterqueue.copy.record.enable, dead letters have the key, the value and the headers of the
    records.
    """
    t, d = ask.topic(), letter_topic(ask)
    ask.produce(t, batch(record(10, "v0", "k0", [("h", "1")]), record(20, "v1")))
    group = Share(ask)
    group.joined(M, t, errors_deadletterqueue_topic_name=d, errors_deadletterqueue_copy_record_enable="true")
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("reject both", of("$t.id", (0, 1, REJECT)))
    dead_letters(ask, "dead letters", d, 2)


@scenario("KIP-1191 SharePartition", level="must")
def share_dead_letter_delivered_too_often(ask: ScenarioBuilder) -> None:
    """A record that reaches the limit of deliveries is written to the dead-letter topic."""
    t, d = ask.topic(), letter_topic(ask)
    ask.produce(t, batch(10))
    group = Share(ask)
    group.joined(M, t, errors_deadletterqueue_topic_name=d, share_delivery_count_limit=2)
    reader = Reader(group)
    for delivery in (1, 2):
        reader.fetch(f"delivery {delivery}", of("$t.id"))
        reader.acknowledge(f"release {delivery}", of("$t.id", (0, 0, RELEASE)))
    dead_letters(ask, "a dead letter", d, 1)
    group.offsets("offsets", t)


@scenario("KIP-1191 SharePartition")
def share_dead_letter_topics_not_used(ask: ScenarioBuilder) -> None:
    """A topic gets no dead letters without errors.deadletterqueue.group.enable, or if its name lacks the prefix of the
    broker; the records are archived.
    """
    for case, name, enabled in (("not enabled", "dlq.<unique>.off", "false"), ("no prefix", "d<unique>", "true")):
        key = case.replace(" ", "")
        t, d = ask.topic(key), letter_topic(ask, name, enabled)
        ask.produce(t, batch(10, 20))
        group = Share(ask, f"g{key}")
        group.joined(M, t, errors_deadletterqueue_topic_name=d)
        reader = Reader(group, conn=key)
        reader.fetch(f"{case}: all records", of(f"${key}.id"))
        reader.acknowledge(f"{case}: reject one", of(f"${key}.id", (0, 0, REJECT)))
        reader.acknowledge(f"{case}: accept the other", of(f"${key}.id", (1, 1, ACCEPT)))
        ask.fetch(f"{case}: no dead letter", at(d))


@scenario("KIP-1191 GroupConfig")
def share_dead_letter_configs(ask: ScenarioBuilder) -> None:
    """The dead-letter topic of a group may have any name that is valid, except those of internal topics."""
    g = ask.unique("g")
    for name in ("letters", "__letters", "a/b", "", "..", "missing-topic"):
        alter(ask, name or "no name", GROUP_RESOURCE, g, ("errors.deadletterqueue.topic.name", SET, name))
    for value in ("true", "false", "maybe"):
        alter(ask, f"copy: {value}", GROUP_RESOURCE, g, ("errors.deadletterqueue.copy.record.enable", SET, value))
    t = ask.topic()
    for value in ("true", "false", "maybe"):
        alter(ask, f"a topic: {value}", 2, t, ("errors.deadletterqueue.group.enable", SET, value))
