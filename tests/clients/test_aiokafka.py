"""aiokafka in the same event loop as the broker."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

import kafkalet

pytestmark = pytest.mark.asyncio

PARTITION = TopicPartition("t", 0)
WHOLE = TopicPartition("t", 1)


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[kafkalet.Broker]:
    async with kafkalet.Broker(topics=[kafkalet.NewTopic("t", 2)]) as running:
        yield running


@pytest_asyncio.fixture
async def producer(broker: kafkalet.Broker) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as started:
        yield started


@pytest_asyncio.fixture
async def consumer(broker: kafkalet.Broker) -> AsyncIterator[AIOKafkaConsumer]:
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="none") as started:
        started.assign([PARTITION])
        yield started


async def test_sent_record_is_in_the_log(broker: kafkalet.Broker, producer: AIOKafkaProducer) -> None:
    sent = await producer.send_and_wait("t", b"v", partition=0, timestamp_ms=1000)
    assert (sent.offset, broker.topic("t").log().high_watermark) == (0, 1)


async def test_offsets_are_looked_up(
    broker: kafkalet.Broker, producer: AIOKafkaProducer, consumer: AIOKafkaConsumer
) -> None:
    for time in (1000, 2000):
        await producer.send_and_wait("t", b"v", partition=0, timestamp_ms=time)
    assert await consumer.beginning_offsets([PARTITION, WHOLE]) == {PARTITION: 0, WHOLE: 0}
    assert await consumer.end_offsets([PARTITION, WHOLE]) == {PARTITION: 2, WHOLE: 0}
    found = await consumer.offsets_for_times({PARTITION: 1001, WHOLE: 1001})
    assert found == {PARTITION: (1, 2000), WHOLE: None}


async def test_waiting_consumer_gets_new_record(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
    consumer.seek(PARTITION, 0)
    waiting = asyncio.create_task(consumer.getone())
    await producer.send_and_wait("t", b"new", partition=0)
    assert (await asyncio.wait_for(waiting, 10)).value == b"new"


async def test_consumer_can_be_iterated(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
    consumer.seek(PARTITION, 0)
    for number in range(50):
        await producer.send("t", b"%d" % number, partition=0)
    seen = []
    async for record in consumer:
        seen.append(int(record.value))
        if len(seen) == 50:
            break
    assert seen == list(range(50))


async def test_fetch_beyond_log_end_is_out_of_range(consumer: AIOKafkaConsumer) -> None:
    consumer.seek(PARTITION, 42)
    with pytest.raises(OffsetOutOfRangeError):
        await asyncio.wait_for(consumer.getone(), 10)


async def test_consumer_seeks_to_end_and_beginning(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
    for value in (b"a", b"b"):
        await producer.send_and_wait("t", value, partition=0)
    await consumer.seek_to_end(PARTITION)
    assert await consumer.position(PARTITION) == 2
    await consumer.seek_to_beginning(PARTITION)
    assert (await consumer.getone()).value == b"a"
    assert consumer.highwater(PARTITION) == 2


async def test_idempotent_producer_under_load_keeps_order(broker: kafkalet.Broker) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True, max_batch_size=2000
    ) as producer:
        sent = [await producer.send("t", b"v" * 100, partition=1) for _ in range(500)]
        offsets = [record.offset for record in await asyncio.gather(*sent)]
    assert offsets == list(range(500))
    assert len({batch.producer_id for batch in broker.topic("t").log(1).batches}) == 1


async def test_two_brokers_in_one_event_loop_are_independent(broker: kafkalet.Broker) -> None:
    async with (
        kafkalet.Broker(topics=["t"]) as other,
        AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as here,
        AIOKafkaProducer(bootstrap_servers=other.bootstrap_servers) as there,
    ):
        await asyncio.gather(here.send_and_wait("t", b"here", partition=0), there.send_and_wait("t", b"there"))
        assert [record.value for batch in other.topic("t").log().batches for record in batch.records()] == [b"there"]
        assert [record.value for batch in broker.topic("t").log().batches for record in batch.records()] == [b"here"]
