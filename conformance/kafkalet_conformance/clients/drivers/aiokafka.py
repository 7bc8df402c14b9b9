"""The driver for aiokafka.

kafkalet conform client -- python3 -m kafkalet_conformance.clients.drivers.aiokafka
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from .contract import PAUSE_S, Deliveries, Task, given, library_is_missing, reason, run, tell, tell_record

try:
    import aiokafka
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.errors import KafkaError, ProducerFenced
except ImportError:
    library_is_missing("aiokafka")

POLL_MS = 500


async def produce(task: Task) -> bool:
    deliveries = Deliveries(task)
    async with producer_of(task) as producer:
        if not task.transactional_id:
            await send_all(producer, deliveries, task)
            return deliveries.complete
        try:
            async with producer.transaction():
                await send_all(producer, deliveries, task)
        except KafkaError as error:
            tell("aborted", reason(error))
            return False
        tell("committed")
    return deliveries.complete


async def send_all(producer: Any, deliveries: Deliveries, task: Task) -> None:
    def done(value: bytes, future: "asyncio.Future[Any]") -> None:
        if error := future.exception():
            deliveries.failed(value, error)
        elif metadata := future.result():
            deliveries.acked(value, metadata.partition, metadata.offset)
        else:  # acks=0
            deliveries.acked(value, -1, -1)

    futures = []
    for value in task.values():
        try:
            future = await producer.send(task.topic, key=value, value=value)
        except KafkaError as error:
            deliveries.failed(value, error)
        else:
            future.add_done_callback(lambda future, value=value: done(value, future))
            futures.append(future)
    if futures:
        await asyncio.wait(futures)


def producer_of(task: Task) -> Any:
    return AIOKafkaProducer(
        bootstrap_servers=task.bootstrap_servers,
        acks="all" if task.acks == "all" else int(task.acks),
        enable_idempotence=task.idempotence,
        **given(
            transactional_id=task.transactional_id,
            request_timeout_ms=task.request_timeout_ms,
            metadata_max_age_ms=task.metadata_max_age_ms,
        ),
    )


async def consume(task: Task) -> bool:
    count = 0
    async with consumer_of(task) as consumer:
        consumer.subscribe([task.topic])  # without a group, this assigns all partitions
        if task.reset == "none" and not task.group:
            while not consumer.assignment():  # noqa: ASYNC110 - aiokafka has no event for it
                await asyncio.sleep(PAUSE_S)
            await consumer.seek_to_beginning()
        async for record in consumer:
            tell_record(record.partition, record.offset, record.value)
            count += 1
            if count == task.count:
                break
    return count == task.count


def consumer_of(task: Task, **more: Any) -> Any:
    return AIOKafkaConsumer(
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


async def transform(task: Task) -> bool:
    count = 0
    async with producer_of(task) as producer, consumer_of(task, enable_auto_commit=False) as consumer:
        consumer.subscribe([task.topic])
        while count < task.count:
            polled = await consumer.getmany(timeout_ms=POLL_MS)
            if polled:
                count += await copy(polled, consumer, producer, task)
    return True


async def copy(polled: dict[Any, list[Any]], consumer: Any, producer: Any, task: Task) -> int:
    """Copy the records of one poll in one transaction; return their number, or 0 if it was aborted."""
    records = [record for batch in polled.values() for record in batch]
    for record in records:
        tell_record(record.partition, record.offset, record.value)
    try:
        async with producer.transaction():
            for record in records:
                await producer.send(task.output_topic, key=record.key, value=record.value)
            offsets = {partition: batch[-1].offset + 1 for partition, batch in polled.items()}
            await producer.send_offsets_to_transaction(offsets, task.group)
    except ProducerFenced:
        raise
    except KafkaError as error:
        tell("aborted", reason(error))
        for partition, offset in (await consumer.seek_to_committed(*polled)).items():
            if not offset:
                await consumer.seek_to_beginning(partition)
        return 0
    tell("committed", len(records))
    return len(records)


def in_loop(role: Callable[[Task], Coroutine[Any, Any, bool]]) -> Callable[[Task], bool]:
    """Return a function that runs a role in an event loop until it ends or the timeout has passed."""

    async def limited(task: Task) -> bool:
        try:
            async with asyncio.timeout(task.left_s):
                return await role(task)
        except TimeoutError:
            return False

    return lambda task: asyncio.run(limited(task))


if __name__ == "__main__":
    run(
        f"aiokafka {aiokafka.__version__}",
        KafkaError,
        produce=in_loop(produce),
        consume=in_loop(consume),
        transform=in_loop(transform),
    )
