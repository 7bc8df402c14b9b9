"""Dead letter queues: which records are written to them, with which headers, and what prevents it."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from kafkalet.testing.record import Record

from .members import ACCEPT, REJECT, RELEASE, Jobs, jobs

QUEUE = "dlq.jobs"
ENABLED = {"errors.deadletterqueue.group.enable": "true"}
HEADERS = ["topic", "partition", "offset", "group", "delivery.count", "message"]


def with_queue(group: Jobs) -> Jobs:
    group.configure({"errors.deadletterqueue.topic.name": QUEUE, "share.delivery.count.limit": "2"})
    group.write(4)
    return group


@pytest.fixture
def group() -> Iterator[Jobs]:
    """A group with a dead letter queue and at most two deliveries."""
    with jobs() as opened:
        opened.cluster.topic(QUEUE).create(1, config=ENABLED)
        yield with_queue(opened)


def letters(group: Jobs) -> list[Record]:
    return list(group.cluster.topic(QUEUE).records())


def test_a_rejected_record_is_written_with_its_origin_as_headers(group: Jobs) -> None:
    member = group.member()
    member.fetch()
    assert member.acknowledge((0, 2, ACCEPT), (3, 3, REJECT)) is Code.NONE
    [letter] = letters(group)
    assert (letter.key, letter.value) == (None, None)
    assert [(name.removeprefix("__dlq.errors."), value) for name, value in letter.headers.items()] == list(
        zip(HEADERS, [b"t", b"0", b"3", b"jobs", b"1", b"Offset rejected by client."], strict=True)
    )
    assert group.stored() == (3, [(3, 3, 4, 1)])


def test_records_that_were_delivered_too_often_are_written(group: Jobs) -> None:
    member = group.member()
    member.fetch()
    member.acknowledge((0, 3, RELEASE))
    member.fetch()
    member.acknowledge((0, 3, RELEASE))
    assert [dict(letter.headers)["__dlq.errors.offset"] for letter in letters(group)] == [b"0", b"1", b"2", b"3"]
    assert dict(letters(group)[0].headers)["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."
    assert member.fetch() == []
    group.write(1)
    assert member.fetch() == [(4, 4, 1)]


def test_records_whose_last_lock_expires_are_written() -> None:
    clock = ManualClock()
    with jobs(clock=clock) as group:
        group.cluster.topic(QUEUE).create(1, config=ENABLED)
        with_queue(group)
        for _ in range(2):
            group.member().fetch()
            clock.advance(seconds=30)
        assert len(letters(group)) == 4


def test_the_records_are_copied_on_request(group: Jobs) -> None:
    group.configure({"errors.deadletterqueue.copy.record.enable": "true"})
    member = group.member()
    member.fetch()
    member.acknowledge((2, 3, REJECT))
    assert [letter.value for letter in letters(group)] == [b"v", b"v"]


def test_the_topic_is_created_on_request() -> None:
    with jobs(config={"errors.deadletterqueue.auto.create.topics.enable": "true"}) as group:
        with_queue(group)
        member = group.member()
        member.fetch()
        member.acknowledge((0, 0, REJECT))
        assert len(letters(group)) == 1
        assert group.cluster._server.metadata.topics[QUEUE].config["errors.deadletterqueue.group.enable"] == "true"


@pytest.mark.parametrize(
    ("name", "config", "why"),
    [
        (QUEUE, None, "does not exist"),
        (QUEUE, {}, "errors.deadletterqueue.group.enable=true"),
        ("queue", ENABLED, "does not begin with dlq."),
    ],
)
def test_records_are_archived_without_a_queue_that_may_be_used(
    name: str, config: dict[str, str] | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with jobs() as group:
        with_queue(group)
        group.configure({"errors.deadletterqueue.topic.name": name})
        if config is not None:
            group.cluster.topic(name).create(1, config=config)
        member = group.member()
        member.fetch()
        assert member.acknowledge((0, 3, REJECT)) is Code.NONE
        assert group.stored()[1] == [(0, 3, 4, 1)]
        assert why in caplog.text


def test_there_is_none_before_kafka_4_4() -> None:
    with jobs(version="4.3") as group:
        group.cluster.topic(QUEUE).create(1)
        with_queue(group)
        member = group.member()
        member.fetch()
        member.acknowledge((0, 3, REJECT))
        assert letters(group) == []
