"""The driver for confluent-kafka.

kafkalet conform client -- python3 -m kafkalet_conformance.clients.drivers.confluent_kafka
"""

from typing import Any

from .contract import Deliveries, Task, acknowledgement, given, library_is_missing, reason, run, tell, tell_record

try:
    import confluent_kafka
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
except ImportError:
    library_is_missing("confluent-kafka")

POLL_S = 0.5


def produce(task: Task) -> bool:
    producer = producer_of(task)
    deliveries = Deliveries(task)

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            offset = message.offset()  # None with acks=0
            deliveries.acked(message.value(), message.partition(), -1 if offset is None else offset)
        else:
            deliveries.failed(message.value(), error)

    if task.transactional_id:
        producer.init_transactions(task.left_s)
        producer.begin_transaction()
    for value in task.values():
        try:
            producer.produce(task.topic, key=value, value=value, on_delivery=delivered)
        except KafkaException as error:
            deliveries.failed(value, error)
        producer.poll(0)
    producer.flush(task.left_s)
    committed = commit(producer, task) if task.transactional_id else True
    return deliveries.complete and committed


def producer_of(task: Task) -> Any:
    settings = {
        "bootstrap.servers": task.bootstrap_servers,
        "acks": task.acks,
        "enable.idempotence": task.idempotence,
        "transactional.id": task.transactional_id,
        "socket.timeout.ms": task.request_timeout_ms,
        "request.timeout.ms": task.request_timeout_ms,
        "message.timeout.ms": task.delivery_timeout_ms,
        "topic.metadata.refresh.interval.ms": task.metadata_max_age_ms,
        "error_cb": log,
    }
    return Producer(given(**settings))


def log(error: Any) -> None:
    tell("log", reason(error))


def commit(producer: Any, task: Task) -> bool:
    try:
        producer.commit_transaction(task.left_s)
    except KafkaException as error:
        producer.abort_transaction(task.left_s)
        tell("aborted", reason(error))
        return False
    tell("committed")
    return True


def consume(task: Task) -> bool:
    consumer = consumer_of(task, {} if task.group else {"enable.auto.commit": False})
    count = 0
    try:
        if task.group:
            consumer.subscribe([task.topic])
        else:
            assign_all_partitions(consumer, task)
        while count < task.count and task.left_s:
            message = consumer.poll(POLL_S)
            if message is not None and is_record(message):
                tell_record(message.partition(), message.offset(), message.value())
                count += 1
    finally:
        consumer.close()
    return count >= task.count


def consumer_of(task: Task, more: dict[str, Any]) -> Any:
    settings = {
        "bootstrap.servers": task.bootstrap_servers,
        "group.id": task.group or "unused",  # required, although `assign` without commits does not use it
        "group.instance.id": task.instance_id,
        "auto.offset.reset": "error" if task.reset == "none" else task.reset,
        "isolation.level": task.isolation,
        "socket.timeout.ms": task.request_timeout_ms,
        "session.timeout.ms": task.session_timeout_ms,
        "heartbeat.interval.ms": task.heartbeat_interval_ms,
        "auto.commit.interval.ms": task.auto_commit_interval_ms,
        "topic.metadata.refresh.interval.ms": task.metadata_max_age_ms,
        "error_cb": raise_if_final,
    }
    return Consumer(given(**settings, **more))


def assign_all_partitions(consumer: Any, task: Task) -> None:
    numbers: list[int] = []
    while not numbers and task.left_s:
        try:
            numbers = sorted(consumer.list_topics(task.topic, task.left_s).topics[task.topic].partitions)
        except KafkaException as error:
            log(error.args[0])
        if not numbers:
            task.pause()
    start = {"offset": OFFSET_BEGINNING} if task.reset == "none" else {}
    consumer.assign([TopicPartition(task.topic, number, **start) for number in numbers])


def is_record(message: Any) -> bool:
    """Return whether a message is a record; otherwise it reports an error."""
    if message.error() is not None:
        raise_if_final(message.error())
    return message.error() is None


def raise_if_final(error: Any) -> None:
    """Raise a fatal error, or a missing offset; librdkafka recovers from all others. `poll` raises it again."""
    if error.fatal() or error.code() in (KafkaError._FATAL, KafkaError._AUTO_OFFSET_RESET):
        raise KafkaException(error)
    log(error)


def share(task: Task) -> bool:
    settings = {
        "bootstrap.servers": task.bootstrap_servers,
        "group.id": task.group,
        "share.acknowledgement.mode": "explicit",
        "socket.timeout.ms": task.request_timeout_ms,
        "topic.metadata.refresh.interval.ms": task.metadata_max_age_ms,
    }
    consumer = confluent_kafka.ShareConsumer(given(**settings))
    done: set[tuple[int, int]] = set()
    try:
        consumer.subscribe([task.topic])
        while len(done) < task.count and task.left_s:
            acknowledged = set()
            for message in filter(is_record, consumer.poll(POLL_S)):
                place = message.partition(), message.offset()
                tell_record(*place, message.value())
                kind = acknowledgement(message.value(), message.delivery_count())
                consumer.acknowledge(message, confluent_kafka.AcknowledgeType[kind])
                acknowledged |= {place} if kind != "RELEASE" else set()
            failed = commit_share(consumer, task) if acknowledged else set()
            done |= {place for place in acknowledged if place[0] not in failed}
    finally:
        consumer.close()
    return len(done) >= task.count


def commit_share(consumer: Any, task: Task) -> set[int]:
    """Send the acknowledgements; return the partitions for which that failed."""
    results = consumer.commit_sync(task.left_s) or {}
    failed = {partition.partition: error for partition, error in results.items() if error is not None}
    for error in failed.values():
        log(error)
    return set(failed)


def transform(task: Task) -> bool:
    consumer = consumer_of(task, {"enable.auto.commit": False})
    producer = producer_of(task)
    count = 0
    try:
        consumer.subscribe([task.topic])
        producer.init_transactions(task.left_s)
        while count < task.count and task.left_s:
            messages = [message for message in consumer.consume(task.count, POLL_S) if is_record(message)]
            if messages:
                count += copy(messages, consumer, producer, task)
    finally:
        consumer.close()
    return count >= task.count


def copy(messages: list[Any], consumer: Any, producer: Any, task: Task) -> int:
    """Copy records in one transaction; return their number, or 0 if it was aborted."""
    for message in messages:
        tell_record(message.partition(), message.offset(), message.value())
    producer.begin_transaction()
    try:
        for message in messages:
            producer.produce(task.output_topic, key=message.key(), value=message.value())
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), task.left_s)
        producer.commit_transaction(task.left_s)
    except KafkaException as error:
        if error.args[0].fatal():
            raise
        producer.abort_transaction(task.left_s)
        tell("aborted", reason(error))
        for partition in consumer.committed(consumer.assignment(), task.left_s):
            if partition.offset < 0:
                partition.offset = OFFSET_BEGINNING
            consumer.seek(partition)
        return 0
    tell("committed", len(messages))
    return len(messages)


if __name__ == "__main__":
    client = f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})"
    run(client, KafkaException, produce=produce, consume=consume, transform=transform, share=share)
