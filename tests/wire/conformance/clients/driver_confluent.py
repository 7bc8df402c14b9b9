"""A driver for confluent-kafka, as docs/conform-clients.md describes it."""

import os
import re
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

NAMES = {name.removeprefix("KAFKALET_"): value for name, value in os.environ.items()}
TOPIC, COUNT = NAMES["TOPIC"], int(NAMES["COUNT"])


def say(*words: object) -> None:
    print(*words, flush=True)


def shown(value: bytes | None) -> str:
    if value is None:
        return "\\N"
    return re.sub(rb"[^ -\x5b\x5d-~]", lambda found: b"\\x%02x" % found[0][0], value).decode()


def settings(**more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": NAMES["KAFKA_BOOTSTRAP_SERVERS"],
        "socket.timeout.ms": int(NAMES["REQUEST_TIMEOUT_MS"]),
        "topic.metadata.refresh.interval.ms": int(NAMES["METADATA_MAX_AGE_MS"]),
        **more,
    }


def producer() -> Producer:
    transactional = {"transactional.id": NAMES["TRANSACTIONAL_ID"]} if "TRANSACTIONAL_ID" in NAMES else {}
    return Producer(
        settings(
            **transactional,
            **{
                "acks": NAMES.get("ACKS", "all"),
                "enable.idempotence": NAMES.get("IDEMPOTENCE", "true") == "true",
                "request.timeout.ms": int(NAMES["REQUEST_TIMEOUT_MS"]),
                "message.timeout.ms": int(NAMES["DELIVERY_TIMEOUT_MS"]),
            },
        )
    )


def produce() -> int:
    client, failures = producer(), []
    is_transactional = "TRANSACTIONAL_ID" in NAMES

    def told(error: KafkaError | None, message: Any) -> None:
        value = message.value().decode()
        if error is None:
            say("acked", value, message.partition(), -1 if message.offset() is None else message.offset())
        else:
            failures.append(value)
            say("failed", value, error)

    try:
        if is_transactional:
            client.init_transactions()
            client.begin_transaction()
        for number in range(COUNT):
            client.produce(TOPIC, key=str(number), value=str(number), on_delivery=told)
            client.poll(0)
        client.flush()
        if is_transactional:
            client.commit_transaction()
            say("committed")
    except KafkaException as error:
        say("aborted", error)
        return 1
    return int(bool(failures))


def consumer() -> Consumer:
    more = {"group.instance.id": NAMES["INSTANCE_ID"]} if "INSTANCE_ID" in NAMES else {}
    return Consumer(
        settings(
            **more,
            **{
                "group.id": NAMES.get("GROUP", "none"),
                "auto.offset.reset": {"none": "error"}.get(NAMES["RESET"], NAMES["RESET"]),
                "isolation.level": NAMES["ISOLATION"],
                "enable.auto.commit": False,
                "session.timeout.ms": int(NAMES["SESSION_TIMEOUT_MS"]),
                "heartbeat.interval.ms": int(NAMES["HEARTBEAT_INTERVAL_MS"]),
                "allow.auto.create.topics": False,
            },
        )
    )


FATAL = {KafkaError._AUTO_OFFSET_RESET, KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID, KafkaError._NO_OFFSET}


def consume() -> int:
    client = consumer()
    has_group = "GROUP" in NAMES
    if has_group:
        client.subscribe([TOPIC])
    else:
        partitions: list[int] = []
        while not partitions:
            try:
                partitions = list(client.list_topics(TOPIC, timeout=2).topics[TOPIC].partitions)
            except KafkaException as error:
                say("log", error)
        start = {"none": 0, "earliest": -2, "latest": -1}[NAMES["RESET"]]
        client.assign([TopicPartition(TOPIC, partition, start) for partition in partitions])
    seen = 0
    while seen < COUNT:
        message = client.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            if error.fatal() or error.code() in FATAL:
                say("error", error)
                return 1
            say("log", error)
            continue
        say("record", message.partition(), message.offset(), shown(message.value()))
        seen += 1
        if has_group:
            try:
                client.commit(message, asynchronous=False)
            except KafkaException as problem:
                if problem.args[0].code() in FATAL:
                    say("error", problem)
                    return 1
                say("log", problem)
    client.close()
    return 0


def transform() -> int:
    source, target = consumer(), producer()
    target.init_transactions()
    source.subscribe([TOPIC])
    seen = 0
    while seen < COUNT:
        messages = [each for each in source.consume(COUNT - seen, 0.5) if each.error() is None]
        if not messages:
            continue
        target.begin_transaction()
        for message in messages:
            say("record", message.partition(), message.offset(), shown(message.value()))
            target.produce(NAMES["OUTPUT_TOPIC"], key=message.key(), value=message.value())
        try:
            places = source.position(source.assignment())
            target.send_offsets_to_transaction(places, source.consumer_group_metadata())
            target.commit_transaction()
            say("committed", len(messages))
            seen += len(messages)
        except KafkaException as problem:
            say("aborted", problem)
            if not problem.args[0].txn_requires_abort():
                return 1
            target.abort_transaction()
            for message in reversed(messages):
                source.seek(TopicPartition(message.topic(), message.partition(), message.offset()))
    source.close()
    return 0


ROLES = {"produce": produce, "consume": consume, "transform": transform}

if __name__ == "__main__":
    sys.exit(ROLES[NAMES["ROLE"]]())
