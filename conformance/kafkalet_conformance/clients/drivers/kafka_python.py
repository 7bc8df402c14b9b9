"""The driver for kafka-python.

kafkalet conform client -- python3 -m kafkalet_conformance.clients.drivers.kafka_python
"""

from typing import Any

from .contract import Deliveries, Task, given, library_is_missing, reason, run, tell, tell_record

try:
    import kafka
    from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
    from kafka.errors import KafkaError, ProducerFencedError
except ImportError:
    library_is_missing("kafka-python")

POLL_MS = 500


def produce(task: Task) -> bool:
    producer = producer_of(task)
    deliveries = Deliveries(task)
    if task.transactional_id:
        producer.init_transactions()
        producer.begin_transaction()
    for value in task.values():
        try:
            future = producer.send(task.topic, key=value, value=value)
        except KafkaError as error:
            deliveries.failed(value, error)
        else:
            future.add_callback(lambda sent, value=value: deliveries.acked(value, sent.partition, sent.offset))
            future.add_errback(lambda error, value=value: deliveries.failed(value, error))
    committed = commit(producer) if task.transactional_id else flush(producer, task)
    producer.close(timeout=task.left_s)
    return deliveries.complete and committed


def producer_of(task: Task) -> Any:
    return KafkaProducer(
        bootstrap_servers=task.bootstrap_servers,
        acks="all" if task.acks == "all" else int(task.acks),
        enable_idempotence=task.idempotence,
        **given(
            transactional_id=task.transactional_id,
            request_timeout_ms=task.request_timeout_ms,
            delivery_timeout_ms=task.delivery_timeout_ms,
            metadata_max_age_ms=task.metadata_max_age_ms,
        ),
    )


def flush(producer: Any, task: Task) -> bool:
    try:
        producer.flush(timeout=task.left_s)
    except KafkaError as error:
        tell("log", reason(error))
    return True


def commit(producer: Any) -> bool:
    try:
        producer.commit_transaction()
    except KafkaError as error:
        producer.abort_transaction()
        tell("aborted", reason(error))
        return False
    tell("committed")
    return True


def consume(task: Task) -> bool:
    consumer = consumer_of(task)
    count = 0
    try:
        if task.group:
            consumer.subscribe([task.topic])
        else:
            assign_all_partitions(consumer, task)
        while count < task.count and task.left_s:
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                for record in records:
                    tell_record(record.partition, record.offset, record.value)
                    count += 1
    finally:
        consumer.close()
    return count >= task.count


def consumer_of(task: Task, **more: Any) -> Any:
    return KafkaConsumer(
        bootstrap_servers=task.bootstrap_servers,
        auto_offset_reset=task.reset,
        isolation_level=task.isolation,
        **given(
            group_id=task.group,
            group_instance_id=task.instance_id,
            request_timeout_ms=task.request_timeout_ms,
            session_timeout_ms=task.session_timeout_ms,
            heartbeat_interval_ms=task.heartbeat_interval_ms,
            auto_commit_interval_ms=task.auto_commit_interval_ms,
            metadata_max_age_ms=task.metadata_max_age_ms,
        ),
        **more,
    )


def assign_all_partitions(consumer: Any, task: Task) -> None:
    while not (numbers := consumer.partitions_for_topic(task.topic)) and task.left_s:
        task.pause()
    partitions = [TopicPartition(task.topic, number) for number in sorted(numbers or ())]
    consumer.assign(partitions)
    if task.reset == "none":
        consumer.seek_to_beginning(*partitions)


def transform(task: Task) -> bool:
    consumer = consumer_of(task, enable_auto_commit=False)
    producer = producer_of(task)
    count = 0
    try:
        consumer.subscribe([task.topic])
        producer.init_transactions()
        while count < task.count and task.left_s:
            polled = consumer.poll(timeout_ms=POLL_MS)
            if polled:
                count += copy(polled, consumer, producer, task)
    finally:
        producer.close(timeout=task.left_s)
        consumer.close()
    return count >= task.count


def copy(polled: dict[Any, list[Any]], consumer: Any, producer: Any, task: Task) -> int:
    """Copy the records of one poll in one transaction; return their number, or 0 if it was aborted."""
    records = [record for batch in polled.values() for record in batch]
    offsets = {partition: OffsetAndMetadata(batch[-1].offset + 1, "", -1) for partition, batch in polled.items()}
    for record in records:
        tell_record(record.partition, record.offset, record.value)
    producer.begin_transaction()
    try:
        for record in records:
            producer.send(task.output_topic, key=record.key, value=record.value)
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        producer.commit_transaction()
    except ProducerFencedError:
        raise
    except KafkaError as error:
        producer.abort_transaction()
        tell("aborted", reason(error))
        for partition in polled:
            committed = consumer.committed(partition)
            if committed is None:
                consumer.seek_to_beginning(partition)
            else:
                consumer.seek(partition, committed)
        return 0
    tell("committed", len(records))
    return len(records)


if __name__ == "__main__":
    run(f"kafka-python {kafka.__version__}", KafkaError, produce=produce, consume=consume, transform=transform)
