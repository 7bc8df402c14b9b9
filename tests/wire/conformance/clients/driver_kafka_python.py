"""A driver for kafka-python, as docs/conform-clients.md describes it."""

import os
import re
import sys

import kafka  # type: ignore[import-untyped]
from kafka.errors import FencedInstanceIdError, KafkaError  # type: ignore[import-untyped]
from kafka.structs import OffsetAndMetadata, TopicPartition  # type: ignore[import-untyped]

NAMES = {name.removeprefix("KAFKALET_"): value for name, value in os.environ.items() if name.startswith("KAFKALET_")}
SERVERS = os.environ["KAFKA_BOOTSTRAP_SERVERS"].split(",")
TOPIC, COUNT = NAMES["TOPIC"], int(NAMES["COUNT"])


def say(*words: object) -> None:
    print(*words, flush=True)


def shown(value: bytes | None) -> str:
    if value is None:
        return "\\N"
    return re.sub(rb"[^ -\x5b\x5d-~]", lambda found: b"\\x%02x" % found[0][0], value).decode()


def reason(error: Exception) -> str:
    return repr(error).replace("\n", " ")


def producer() -> kafka.KafkaProducer:
    return kafka.KafkaProducer(
        bootstrap_servers=SERVERS,
        acks={"all": "all", "1": 1, "0": 0}[NAMES["ACKS"]],
        enable_idempotence=NAMES["IDEMPOTENCE"] == "true",
        transactional_id=NAMES.get("TRANSACTIONAL_ID"),
        request_timeout_ms=int(NAMES["REQUEST_TIMEOUT_MS"]),
        delivery_timeout_ms=int(NAMES["DELIVERY_TIMEOUT_MS"]),
        metadata_max_age_ms=int(NAMES["METADATA_MAX_AGE_MS"]),
    )


def produce() -> int:
    client = producer()
    failed = False
    if "TRANSACTIONAL_ID" in NAMES:
        client.init_transactions()
        client.begin_transaction()
    sent = []
    for number in range(COUNT):
        text = str(number)
        try:
            sent.append((text, client.send(TOPIC, key=text.encode(), value=text.encode())))
        except KafkaError as error:
            failed = True
            say("failed", text, reason(error))
    for text, future in sent:
        try:
            told = future.get(timeout=30)
            say("acked", text, told.partition, told.offset)
        except KafkaError as error:
            failed = True
            say("failed", text, reason(error))
    if "TRANSACTIONAL_ID" in NAMES:
        try:
            if failed:
                client.abort_transaction()
                say("aborted", "a record failed")
            else:
                client.commit_transaction()
                say("committed")
        except KafkaError as error:
            failed = True
            say("aborted", reason(error))
    client.close(timeout=5)
    return int(failed)


def consume() -> int:
    group = NAMES.get("GROUP")
    more = {"group_instance_id": NAMES["INSTANCE_ID"]} if "INSTANCE_ID" in NAMES else {}
    client = kafka.KafkaConsumer(
        bootstrap_servers=SERVERS,
        group_id=group,
        auto_offset_reset=NAMES["RESET"],
        isolation_level=NAMES["ISOLATION"],
        enable_auto_commit=False,
        request_timeout_ms=int(NAMES["REQUEST_TIMEOUT_MS"]),
        session_timeout_ms=int(NAMES["SESSION_TIMEOUT_MS"]),
        heartbeat_interval_ms=int(NAMES["HEARTBEAT_INTERVAL_MS"]),
        metadata_max_age_ms=int(NAMES["METADATA_MAX_AGE_MS"]),
        **more,
    )
    if group is None:
        partitions = None
        while not partitions:
            partitions = client.partitions_for_topic(TOPIC)
        places = [TopicPartition(TOPIC, partition) for partition in sorted(partitions)]
        client.assign(places)
        if NAMES["RESET"] == "none":
            client.seek_to_beginning(*places)
    else:
        client.subscribe([TOPIC])
    seen = 0
    try:
        while seen < COUNT:
            for place, records in client.poll(timeout_ms=200).items():
                for record in records:
                    say("record", record.partition, record.offset, shown(record.value))
                seen += len(records)
                if group is not None:
                    try:
                        client.commit({place: OffsetAndMetadata(records[-1].offset + 1, "", -1)})
                    except FencedInstanceIdError:
                        raise
                    except KafkaError as error:
                        say("log", reason(error))
    except KafkaError as error:
        say("error", reason(error))
        return 1
    client.close()
    return 0


ROLES = {"produce": produce, "consume": consume}

if __name__ == "__main__":
    role = ROLES.get(NAMES["ROLE"])
    sys.exit(64 if role is None else role())
