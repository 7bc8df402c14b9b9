"""Tests of the web page in Chromium, with data of real clients."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from tests.wire.brokers import Wire
from tests.wire.testing.share_worker import ACCEPT, worker

from .asking import TOKEN, Asking, asking
from .browser import expect, launched, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

START_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def three() -> Iterator[Asking]:
    """The control API of three brokers. Each test uses its own topics. Records are old, and must not be deleted."""
    with asking(brokers=3, version="3.9", config={"log.retention.ms": -1}) as found:
        yield found


@pytest.fixture
def page(browser: "Browser", three: Asking) -> Iterator["Page"]:
    with opened(browser, three.control.url) as found:
        yield found


def produce(api: Asking, topic: str, count: int, **options: str) -> None:
    """Produce records with the keys and values 0, 1, ... at intervals of a second to partition 0."""
    producer = Producer({"bootstrap.servers": api.cluster.bootstrap_servers, **options})
    for index in range(count):
        producer.produce(topic, str(index), str(index), partition=0, timestamp=START_MS + index * 1000)
    assert producer.flush(20) == 0


def visit(page: "Page", place: str) -> None:
    """Show a place, and return when the page has received the event `hashchange`, which makes it show the place."""
    page.evaluate(
        """place => new Promise(resolve => {
            if (location.hash === place) resolve();
            addEventListener("hashchange", resolve, { once: true });
            location.hash = place;
        })""",
        place,
    )


def cells(rows: "Locator") -> list[list[str]]:
    """Return the texts of the cells of table rows."""
    found: list[list[str]] = rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


def offsets(page: "Page") -> list[int]:
    """Return the offsets of the records that are shown."""
    return [int(row[1].replace(",", "")) for row in cells(page.locator(".records tbody tr"))]


# Topics


def test_partition_is_a_bar_with_its_four_offsets(page: "Page", three: Asking) -> None:
    three.cluster.topic("bars").create(1, replication_factor=3)
    produce(three, "bars", 10)
    three.cluster.topic("bars").delete_records(4)
    open_one = Producer({"bootstrap.servers": three.cluster.bootstrap_servers, "transactional.id": "bars"})
    open_one.init_transactions()
    open_one.begin_transaction()
    open_one.produce("bars", b"open")
    open_one.flush()
    with three.cluster.topic("bars").hold_high_watermark():
        produce(three, "bars", 1, acks="1")
        topic = page.get_by_role("article", name="Topic bars")
        bar = topic.get_by_role("img")
        expect(bar).to_have_accessible_name(
            "log start 4, last stable 10, high watermark 11, log end 12; 4 offsets deleted; "
            "1 offset in open transactions; 1 offset not replicated"
        )
        assert cells(topic.locator("tbody tr"))[0][2:6] == ["4", "10", "11", "12"]
        parts = bar.locator(".part").evaluate_all("all => all.map(part => [part.className, part.style.width])")
    assert [name for name, _ in parts] == ["part deleted", "part stable", "part unstable", "part unreplicated"]
    assert [round(float(width.rstrip("%"))) for _, width in parts] == [33, 50, 8, 8]
    open_one.abort_transaction()


def test_topic_is_created_and_deleted(page: "Page", three: Asking) -> None:
    page.get_by_role("button", name="New topic").click()
    form = page.get_by_role("form", name="New topic")
    form.get_by_label("Name").fill("by-hand")
    form.get_by_label("Partitions").fill("2")
    form.get_by_label("Properties").fill("cleanup.policy=compact,delete, retention.ms=1000")
    form.get_by_role("button", name="Create").click()
    topic = page.get_by_role("article", name="Topic by-hand")
    topic.get_by_text("retention.ms=1000").wait_for()
    found = three.get("/v1/topics/by-hand")
    assert (len(found["partitions"]), found["config"]["cleanup.policy"]) == (2, "compact,delete")
    topic.get_by_role("button", name="Delete topic by-hand").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    topic.wait_for(state="detached")
    assert three.ask("GET", "/v1/topics/by-hand").status == 404


def test_error_of_the_api_is_shown_in_its_form(page: "Page") -> None:
    page.get_by_role("button", name="New topic").click()
    form = page.get_by_role("form", name="New topic")
    form.get_by_label("Name").fill("no/slash")
    form.get_by_role("button", name="Create").click()
    assert "INVALID_TOPIC_EXCEPTION" in form.get_by_role("alert").inner_text()


def test_properties_that_cannot_be_read_are_explained(page: "Page") -> None:
    page.get_by_role("button", name="New topic").click()
    form = page.get_by_role("form", name="New topic")
    form.get_by_label("Name").fill("x")
    form.get_by_label("Properties").fill("retention.ms")
    form.get_by_role("button", name="Create").click()
    assert form.get_by_role("alert").inner_text().strip() == "retention.ms is not KEY=VALUE"


def test_filter_hides_other_topics(page: "Page", three: Asking) -> None:
    three.cluster.topic("filtered-a").create()
    three.cluster.topic("filtered-b").create()
    page.get_by_role("article", name="Topic filtered-b").wait_for()
    page.get_by_role("searchbox", name="Filter topics").fill("ED-A")
    assert page.get_by_role("article").count() == 1
    page.get_by_role("searchbox", name="Filter topics").fill("missing")
    page.get_by_text("No topic contains “missing”.").wait_for()


def test_segments_open_batches_and_batches_open_records(page: "Page", three: Asking) -> None:
    three.cluster.topic("rolled").create(1, config={"segment.bytes": "400"}, replication_factor=1)
    for _ in range(4):
        produce(three, "rolled", 10, **{"linger.ms": "500"})
    second = three.cluster.topic("rolled").log().segments[1].base_offset
    page.get_by_role("button", name="Open partition 0 of rolled").click()
    detail = page.get_by_role("complementary", name="Partition 0 of rolled")
    detail.get_by_role("button", name=f"Segment {second}").click()
    detail.get_by_role("heading", name=f"Batches of segment {second}").wait_for()
    first = cells(detail.locator("tbody tr"))[0]
    assert first[0].startswith(f"{second} \N{EN DASH} ")
    assert first[2] == "none"
    detail.get_by_role("button", name=f"Open the records of batch {second}").click()
    page.locator(".records tbody tr").first.wait_for()
    last = three.get(f"/v1/topics/rolled/partitions/0/batches?offset={second}&limit=1")["batches"][0]["last_offset"]
    assert offsets(page) == list(range(second, last + 1))


def test_batches_are_those_of_the_open_partition(page: "Page", three: Asking) -> None:
    """Even if batches of two topics have the same checksum."""
    for topic, first in (("twin-a", 0), ("twin-b", 5)):
        three.cluster.topic(topic, 1).append_batches(
            build_batch([Record(first, START_MS, None, b"same", ())], base_offset=first)
        )
    visit(page, "#/topics/twin-a/0")
    page.get_by_role("button", name="Open the records of batch 0").wait_for()
    visit(page, "#/topics/twin-b/0")
    page.get_by_role("button", name="Open the records of batch 5").wait_for()
    assert page.get_by_role("button", name="Open the records of batch 0").count() == 0


def test_batches_are_those_of_the_topic_that_was_created_again(page: "Page", three: Asking) -> None:
    topic = three.cluster.topic("batches-again")
    topic.create(1).send("old", timestamp=START_MS)
    visit(page, "#/topics/batches-again/0")
    before = page.get_by_role("button", name="Open the records of batch 0")
    before.wait_for()
    shown = page.locator(".batches tbody td").last.get_attribute("title")
    topic.delete()
    topic.create(1).send("new", timestamp=START_MS + 60_000)
    expect(page.locator(".batches tbody td").last).not_to_have_attribute("title", shown or "")


def test_batches_show_transactions_and_markers(page: "Page", three: Asking) -> None:
    three.cluster.topic("marked").create(1, replication_factor=1)
    producer = Producer({"bootstrap.servers": three.cluster.bootstrap_servers, "transactional.id": "marked"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("marked", b"x")
    producer.flush(20)
    producer.abort_transaction(20)
    visit(page, "#/topics/marked/0")
    detail = page.get_by_role("complementary", name="Partition 0 of marked")
    detail.get_by_text("ABORT").wait_for()
    rows = cells(detail.locator("tbody tr"))
    assert [(row[0], row[4]) for row in rows] == [("0", "transactional"), ("1", "ABORT")]
    assert rows[0][3] == rows[1][3]


def test_leader_is_elected(page: "Page", three: Asking) -> None:
    three.post("/v1/topics", {"name": "led", "assignments": [[1, 2]]})
    visit(page, "#/topics/led/0")
    detail = page.get_by_role("complementary", name="Partition 0 of led")
    detail.get_by_role("button", name="Elect 2").click()
    detail.get_by_text("Leader 2, epoch 1").wait_for()
    assert three.get("/v1/topics/led/partitions/0")["leader"] == 2


def test_many_topics_are_shown_on_demand(browser: "Browser") -> None:
    with asking() as api:
        for index in range(205):
            api.cluster.topic(f"many-{index:03}").create(1)
        with opened(browser, api.control.url) as page:
            page.get_by_role("button", name="Show all 205 topics").click()
            expect(page.get_by_role("article")).to_have_count(205)


def test_each_of_many_topics_is_one_line_until_it_is_opened(browser: "Browser") -> None:
    with asking() as api:
        for index in range(40):
            api.cluster.topic(f"line-{index:02}").create(3)
        with opened(browser, api.control.url) as page:
            expect(page.get_by_role("article")).to_have_count(40)
            expect(page.get_by_role("table")).to_have_count(0)
            boxes = [row.bounding_box() for row in page.get_by_role("article").all()]
            assert max(box["height"] for box in boxes if box) < 45
            page.get_by_text("line-07", exact=True).click()
            expect(page.get_by_role("table")).to_have_count(1)
            expect(page.get_by_role("button", name=re.compile("Open partition . of line-07"))).to_have_count(3)
            page.get_by_role("searchbox", name="Filter topics").fill("line-3")  # few topics are open
            expect(page.get_by_role("table")).to_have_count(10)


def test_topic_tells_of_partitions_without_a_leader_or_behind(browser: "Browser") -> None:
    with asking(brokers=2) as api, opened(browser, api.control.url) as page:
        api.cluster.topic("alone").create(2, replication_factor=1)
        api.cluster.topic("both").create(1, replication_factor=2)
        api.cluster.broker(2).stop()
        expect(page.get_by_role("article", name="Topic alone").locator("header")).to_contain_text("1 without a leader")
        expect(page.get_by_role("article", name="Topic both").locator("header")).to_contain_text("1 not in sync")


# Records


def test_records_are_read_from_an_offset_and_from_a_time(page: "Page", three: Asking) -> None:
    produce(three, "read", 10)
    visit(page, "#/records/read")
    page.get_by_text("10 records").wait_for()
    page.get_by_label("From").select_option("offset")
    page.get_by_label("Offset", exact=True).fill("7")
    page.get_by_role("button", name="Read").click()
    page.get_by_text("3 records").wait_for()
    assert offsets(page) == [7, 8, 9]
    visit(page, f"#/records/read?start=time&time={START_MS + 8000}")
    page.get_by_text("2 records").wait_for()
    assert offsets(page) == [8, 9]
    visit(page, "#/records/read?start=last&last=1")
    page.get_by_text("1 record", exact=True).wait_for()
    assert offsets(page) == [9]


def test_isolation_hides_open_transactions(page: "Page", three: Asking) -> None:
    produce(three, "isolated", 2)
    producer = Producer({"bootstrap.servers": three.cluster.bootstrap_servers, "transactional.id": "isolated"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("isolated", b"open", partition=0)
    producer.flush()
    visit(page, "#/records/isolated")
    page.get_by_text("3 records").wait_for()
    page.get_by_label("Isolation").select_option("read_committed")
    page.get_by_text("2 records").wait_for()
    producer.commit_transaction()
    page.get_by_role("button", name="Read").click()
    page.get_by_text("3 records").wait_for()


def test_more_records_are_read_on_demand(page: "Page", three: Asking) -> None:
    produce(three, "paged", 10)
    visit(page, "#/records/paged?limit=6")
    page.get_by_text("6 records, more follow").wait_for()
    page.get_by_role("button", name="More records").click()
    page.get_by_text("10 records", exact=True).wait_for()
    values(page).nth(9).wait_for()
    assert offsets(page) == list(range(10))


def test_records_are_followed(page: "Page", three: Asking) -> None:
    produce(three, "followed", 2)
    visit(page, "#/records/followed")
    page.get_by_text("2 records").wait_for()
    page.get_by_role("checkbox", name="follow").check()
    produce(three, "followed", 3)
    page.get_by_text("5 records").wait_for()
    values(page).nth(4).wait_for()
    assert offsets(page) == list(range(5))


def values(page: "Page") -> "Locator":
    """Return the values of the records that are shown."""
    return page.locator(".records td.value")


def value_of_record(page: "Page", value: str) -> "Locator":
    return page.locator(".records tbody tr").filter(has_text=value)


def test_records_are_those_of_the_chosen_topic(page: "Page", three: Asking) -> None:
    for topic in ("chosen-a", "chosen-b"):
        three.cluster.topic(topic, 1).send_batch([f"{topic} {index}" for index in range(3)])
    visit(page, "#/records/chosen-a")
    value_of_record(page, "chosen-a 2").wait_for()
    page.get_by_role("button", name="Open record 0 of partition 0").click()
    page.get_by_role("form", name="Read records").get_by_label("Topic").select_option("chosen-b")
    value_of_record(page, "chosen-b 2").wait_for()
    expect(values(page)).to_have_text(["chosen-b 0", "chosen-b 1", "chosen-b 2"])
    assert page.get_by_role("complementary", name="Record").count() == 0  # the open record belongs to another topic
    page.get_by_role("button", name="Open record 1 of partition 0").click()
    detail = page.get_by_role("complementary", name="Record")
    assert detail.get_by_text("chosen-b-0 @ 1").count() == 1
    assert detail.get_by_text("chosen-b 1").count() == 1


def replace_by_truncation(api: Asking) -> None:
    api.cluster.topic("replaced").truncate(0)
    api.cluster.topic("replaced").send("new")


def replace_by_creation(api: Asking) -> None:
    api.cluster.topic("replaced").delete()
    api.cluster.topic("replaced", 1).send("new")


def replace_by_reset(api: Asking) -> None:
    api.post("/v1/reset", {})
    api.cluster.topic("replaced", 1).send("new")


def replace_by_restore(api: Asking) -> None:
    old = api.cluster.snapshot()
    replace_by_truncation(api)
    new = api.cluster.snapshot()
    api.cluster.restore(old)
    api.cluster.restore(new)


REPLACE = pytest.mark.parametrize(
    "replace", [replace_by_truncation, replace_by_creation, replace_by_reset, replace_by_restore]
)


@REPLACE
def test_records_that_were_replaced_are_read_again(browser: "Browser", replace: Callable[[Asking], None]) -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("replaced", 1).send("old")
        visit(page, "#/records/replaced")
        value_of_record(page, "old").wait_for()
        page.get_by_role("button", name="Open record 0 of partition 0").click()
        replace(api)
        expect(value_of_record(page, "old")).to_have_count(0)
        expect(page.get_by_role("complementary", name="Record").get_by_text("old")).to_have_count(0)
        page.get_by_role("button", name="Read").click()
        expect(values(page)).to_have_text(["new"])


@REPLACE
def test_followed_records_that_were_replaced_are_read_again(
    browser: "Browser", replace: Callable[[Asking], None]
) -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("replaced", 1).send("old")
        visit(page, "#/records/replaced")
        value_of_record(page, "old").wait_for()
        page.get_by_role("checkbox", name="follow").check()
        replace(api)
        value_of_record(page, "new").wait_for()
        expect(values(page)).to_have_text(["new"])


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("auto", '{\n  "id": 12345678901234567890,\n  "items": [],\n  "name": "a: [b]"\n}'),
        ("text", '{"id":12345678901234567890, "items": [ ], "name":"a: [b]"}'),
        ("hex", '000000  7b 22 69 64 22 3a 31 32  33 34 35 36 37 38 39 30  {"id":1234567890'),
    ],
)
def test_value_is_shown_as_text_json_or_hexadecimal(page: "Page", three: Asking, view: str, expected: str) -> None:
    topic = f"viewed-{view}"
    three.cluster.topic(topic).send(
        '{"id":12345678901234567890, "items": [ ], "name":"a: [b]"}', headers={"trace": "t1"}
    )
    visit(page, f"#/records/{topic}")
    page.get_by_role("button", name="Open record 0 of partition 0").click()
    detail = page.get_by_role("complementary", name="Record")
    detail.get_by_label("View").select_option(view)
    value = detail.get_by_role("heading", name="Value").locator("+ *").inner_text()
    assert value.split("\n000010")[0] == expected
    assert detail.locator(".headers dt").inner_text() == "trace"


def test_bytes_that_are_not_text_are_shown_as_hexadecimal(page: "Page", three: Asking) -> None:
    three.cluster.topic("binary").send(b"\xff\x00A" + bytes(100), key=b"\xfe")
    visit(page, "#/records/binary")
    page.get_by_role("button", name="Open record 0 of partition 0").click()
    row = cells(page.locator(".records tbody tr"))[0]
    assert row[3] == "1 byte fe"
    assert row[4].startswith("103 bytes ff 00 41 00")
    detail = page.get_by_role("complementary", name="Record").inner_text()
    assert "000000  ff 00 41 00 00 00 00 00  00 00 00 00 00 00 00 00  ..A" in detail


def test_record_is_sent(page: "Page", three: Asking) -> None:
    three.cluster.topic("sent").create(2)
    visit(page, "#/records/sent")
    page.get_by_role("button", name="Send a record").click()
    form = page.get_by_role("form", name="Send a record")
    form.get_by_role("textbox", name="Key").fill("k")
    form.get_by_role("textbox", name="Value").fill('{"id": 7}')
    form.get_by_label("Headers").fill("trace=a=b\nempty")
    form.get_by_label("Partition").fill("1")
    form.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Sent to sent-1, offset 0.").wait_for()
    [record] = three.cluster.topic("sent").records()
    assert (record.key, record.json(), record.partition) == (b"k", {"id": 7}, 1)
    assert list(record.headers.pairs) == [("trace", b"a=b"), ("empty", None)]


def test_tombstone_is_sent(page: "Page", three: Asking) -> None:
    three.cluster.topic("tombs").create(1)
    visit(page, "#/records/tombs")
    page.get_by_role("button", name="Send a record").click()
    form = page.get_by_role("form", name="Send a record")
    form.get_by_role("textbox", name="Key").fill("k")
    form.get_by_label("The value is null").check()
    form.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Sent to tombs-0").wait_for()
    assert three.cluster.topic("tombs").records()[0].value is None


def test_markup_in_data_stays_text(page: "Page", three: Asking) -> None:
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    three.cluster.topic("attack").send(attack, key=attack, headers={attack: attack})
    visit(page, "#/records/attack")
    page.get_by_role("button", name="Open record 0 of partition 0").click()
    detail = page.get_by_role("complementary", name="Record")
    detail.get_by_text(attack).nth(2).wait_for()
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize("value", ["a\x00b", "red \x1b[31m", "\u202egnp.exe"])
def test_control_characters_refer_to_the_view_that_shows_them(browser: "Browser", value: str) -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("controls", 1).send_batch([value, "tab\tand\nline"])
        visit(page, "#/records/controls")
        expect(page.locator(".records tbody tr").filter(has_text="control characters")).to_have_count(1)
        page.get_by_role("button", name="Open record 0 of partition 0").click()
        detail = page.get_by_role("complementary", name="Record")
        expect(detail.get_by_text("This has control characters.")).to_have_count(1)
        detail.get_by_label("View").select_option("hex")
        expect(detail.get_by_text("This has control characters.")).to_have_count(0)


def test_fields_of_the_form_to_send_stand_in_one_line(page: "Page", three: Asking) -> None:
    three.cluster.topic("aligned").create(1)
    visit(page, "#/records/aligned")
    page.get_by_role("button", name="Send a record").click()
    form = page.get_by_role("form", name="Send a record")
    expect(form.get_by_role("heading", name="Send a record")).to_be_visible()
    boxes = [
        form.locator(f"[name={name}]").bounding_box()
        for name in ("key", "value", "headers", "to-partition", "encoding")
    ]
    assert len({round(box["y"]) for box in boxes if box}) == 1


# Groups


def test_member_that_returns_as_another_client_is_shown_as_such(browser: "Browser") -> None:
    """The member id of the consumer protocol is chosen by the client."""
    body = {"group_id": "g", "member_id": "m" * 22, "rebalance_timeout_ms": 60_000, "topic_partitions": []}
    with asking() as api, opened(browser, api.control.url) as page, closing(Wire(api.cluster)) as wire:
        visit(page, "#/groups")
        api.cluster.topic("t").create()
        wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})  # creates __consumer_offsets
        epoch = 0
        for client_id in ("first-client", "second-client"):
            wire.connection().in_flight.client_id = client_id
            beat = {**body, "member_epoch": epoch, "subscribed_topic_names": ["t"]}
            epoch = wire.ask("ConsumerGroupHeartbeat", 1, beat)["member_epoch"]
            page.get_by_role("cell", name=client_id, exact=True).first.wait_for()
        assert page.get_by_role("cell", name="first-client").count() == 0


@contextmanager
def consumer(api: Asking, group: str, topic: str, **options: str) -> Iterator[Consumer]:
    """A consumer that has joined its group and received the first record."""
    found = Consumer(
        {
            "bootstrap.servers": api.cluster.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **options,
        }
    )
    found.subscribe([topic])
    while found.poll(0.2) is None:
        pass
    yield found
    found.close()


def test_group_shows_members_assignment_and_lag(page: "Page", three: Asking) -> None:
    produce(three, "grouped", 10)
    visit(page, "#/groups")
    with consumer(three, "readers", "grouped", **{"client.id": "reader-1"}) as reader:
        reader.commit(offsets=[TopicPartition("grouped", 0, 4)], asynchronous=False)
        group = page.get_by_role("article", name="Group readers")
        group.get_by_text("lag 6").wait_for()
        group.get_by_text("grouped: 0").wait_for()
        assert group.get_by_text("Stable").count() == 1
        assert cells(group.locator(".lags tbody tr")) == [["grouped-0", "4", "10", "6", "", "reader-1"]]
        assert cells(group.locator(".members tbody tr"))[0][1] == "reader-1"
        group.get_by_role("button", name="Evict").click()
        group.get_by_role("button", name="Evict").wait_for(state="hidden")
    group.get_by_role("button", name="Seek to the latest").click()
    group.get_by_text("lag 0").wait_for()
    assert three.cluster.group("readers").committed("grouped", 0) == 10
    group.get_by_role("button", name="Delete group readers").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    group.wait_for(state="detached")


def test_share_group_shows_the_state_of_records(browser: "Browser") -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("t").send_batch(["a", "b", "c"])
        api.cluster.share_group("jobs").seek("earliest", "t")
        visit(page, "#/groups")
        with worker(api.cluster, "alice") as alice:
            alice.fetch()
            alice.acknowledge(ACCEPT, 0)
            group = page.get_by_role("article", name="Group jobs")
            group.get_by_text("lag 2").wait_for()
            assert cells(group.locator(".lags tbody tr")) == [["t-0", "1", "3", "2", "0", "2", "1", "0"]]
            assert cells(group.locator(".members tbody tr"))[0][0] == "alice"
            group.get_by_role("button", name="Expire locks").click()
            api.cluster.share_group("jobs").wait_for(available=2)
            group.get_by_role("button", name="Evict").click()
            group.get_by_role("button", name="Evict").wait_for(state="hidden")
        group.get_by_role("button", name="Seek to the latest").click()
        group.get_by_text("lag 0").wait_for()
        group.get_by_role("button", name="Delete group jobs").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        group.wait_for(state="detached")


# Transactions


def test_open_transaction_is_shown_and_aborted(page: "Page", three: Asking) -> None:
    three.cluster.topic("transacted").create()
    producer = Producer({"bootstrap.servers": three.cluster.bootstrap_servers, "transactional.id": "page-tx"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("transacted", b"x", partition=0)
    producer.flush(20)
    visit(page, "#/transactions")
    row = page.get_by_role("row").filter(has_text="page-tx")
    row.get_by_text("Ongoing").wait_for()
    row.get_by_text("transacted-0").wait_for()
    row.get_by_role("button", name="Abort page-tx").click()
    row.get_by_text("CompleteAbort").wait_for()
    row.get_by_role("button").wait_for(state="hidden")
    assert three.cluster.topic("transacted").values(isolation="read_committed") == []


# Journal


def requests(page: "Page") -> list[str]:
    """Return the APIs and versions of the requests that are shown, newest first."""
    found: list[str] = page.locator(".journal tbody tr:visible th button").all_inner_texts()
    return found


def test_journal_is_live_and_is_searched(page: "Page", three: Asking) -> None:
    produce(three, "unrelated", 1)
    visit(page, "#/journal")
    page.get_by_role("searchbox", name="Search in the journal").fill("journaled offset")
    page.get_by_text("No request matches").wait_for()
    produce(three, "journaled", 3, **{"client.id": "journal-1"})
    page.get_by_role("button", name="Open Produce of journal-1").first.wait_for()
    assert {name.partition(" ")[0] for name in requests(page)} == {"Produce"}
    page.get_by_role("searchbox", name="Search in the journal").fill("")
    page.get_by_role("combobox", name="Client").select_option("journal-1")
    page.get_by_role("combobox", name="API").select_option("Metadata")
    assert {name.partition(" ")[0] for name in requests(page)} == {"Metadata"}


def test_request_opens_with_its_messages(page: "Page", three: Asking) -> None:
    produce(three, "opened", 1, **{"client.id": "opened-1"})
    visit(page, "#/journal")
    page.get_by_role("button", name="Open Produce of opened-1").click()
    detail = page.get_by_role("complementary", name="Request")
    detail.get_by_role("heading", name="Response").wait_for()
    request, response = (json.loads(text) for text in detail.locator("pre").all_inner_texts())
    assert request["topic_data"][0]["name"] == response["responses"][0]["name"] == "opened"
    page.keyboard.press("Escape")
    detail.wait_for(state="hidden")


def test_paused_journal_keeps_new_requests_for_later(page: "Page", three: Asking) -> None:
    visit(page, "#/journal")
    page.get_by_role("searchbox", name="Search in the journal").fill("paused-1")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    produce(three, "paused", 1, **{"client.id": "paused-1"})
    page.get_by_text(re.compile(r"\d+ new")).wait_for()
    assert requests(page) == []
    page.keyboard.press("p")
    page.get_by_role("button", name="Open Produce of paused-1").wait_for()


def test_journal_shows_errors_only(page: "Page", three: Asking) -> None:
    three.cluster.topic("failed").create()
    visit(page, "#/journal")
    with three.cluster.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", topic="failed", times=1):
        produce(three, "failed", 1, **{"client.id": "failed-1"})
    page.get_by_role("combobox", name="Client").select_option("failed-1")
    page.get_by_label("errors only").check()
    errors = page.locator(".journal tbody tr").first.locator("td").nth(2)
    expect(errors).to_have_text(re.compile(r"fault \d+NOT_LEADER_OR_FOLLOWER"))
    assert {name.partition(" ")[0] for name in requests(page)} == {"Produce"}


POLL = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1, "isolation_level": 0, "topics": []}


def test_polls_do_not_displace_other_requests_when_the_journal_is_opened_late(browser: "Browser") -> None:
    with asking() as api, closing(Wire(api.cluster)) as wire:
        wire.ask("ListOffsets", 1, {"replica_id": -1, "topics": []})
        for _ in range(300):
            wire.ask("Fetch", 4, POLL)
        with opened(browser, api.control.url) as page:
            visit(page, "#/journal")
            page.get_by_role("button", name="Open ListOffsets").wait_for()
            page.get_by_text("1 request · 200 polls are hidden", exact=True).wait_for()
            expect(page.get_by_role("tab", name="Journal")).to_have_text("Journal1")


def test_hidden_polls_are_shown_on_demand(browser: "Browser") -> None:
    with asking() as api, closing(Wire(api.cluster)) as wire, opened(browser, api.control.url) as page:
        visit(page, "#/journal")
        page.get_by_text("No requests yet.").wait_for()
        for _ in range(3):
            wire.ask("Fetch", 4, POLL)
        page.get_by_text("3 polls are hidden.").wait_for()
        expect(page.get_by_role("tab", name="Journal")).to_have_text("Journal")
        page.get_by_role("button", name="Show them").click()
        assert requests(page) == ["Fetch v4"] * 3
        expect(page.get_by_role("tab", name="Journal")).to_have_text("Journal3")


@pytest.mark.parametrize("reading", ["pointer", "detail"])
def test_journal_is_frozen_while_a_request_is_read(browser: "Browser", reading: str) -> None:
    with asking() as api, closing(Wire(api.cluster)) as wire, opened(browser, api.control.url) as page:
        visit(page, "#/journal")
        wire.ask("ListOffsets", 1, {"replica_id": -1, "topics": []})
        row = page.get_by_role("button", name="Open ListOffsets")
        row.hover()
        if reading == "detail":
            row.click()
            page.get_by_role("heading", name="Journal").hover()
        for _ in range(3):
            wire.ask("ListOffsets", 2, {"replica_id": -1, "isolation_level": 0, "topics": []})
        page.get_by_text("1 request · frozen, 3 new", exact=True).wait_for()
        assert requests(page) == ["ListOffsets v1"]
        page.keyboard.press("Escape")
        page.get_by_role("heading", name="Journal").hover()
        page.get_by_text("4 requests", exact=True).wait_for()
        assert requests(page) == ["ListOffsets v2"] * 3 + ["ListOffsets v1"]


def test_all_requests_of_the_journal_are_shown_on_demand(browser: "Browser") -> None:
    with asking() as api, closing(Wire(api.cluster)) as wire, opened(browser, api.control.url) as page:
        visit(page, "#/journal")
        for number in (150, 300):  # at most 200 requests are in one event
            for _ in range(150):
                wire.ask("ListOffsets", 1, {"replica_id": -1, "topics": []})
            expect(page.get_by_role("tab", name="Journal")).to_have_text(f"Journal{number}")
        page.get_by_text("latest 200 of 300", exact=True).wait_for()
        assert len(requests(page)) == 200
        page.get_by_role("button", name="Show more").click()
        assert len(requests(page)) == 300


# Faults


def test_fault_is_set_watched_and_removed(page: "Page", three: Asking) -> None:
    three.cluster.topic("faulty").create(1)
    visit(page, "#/faults")
    form = page.get_by_role("form", name="New fault")
    form.get_by_label("API").fill("Produce")
    form.get_by_label("Topic").fill("faulty")
    form.get_by_label("Fire on").select_option("times")
    form.get_by_label("Number", exact=True).fill("2")
    form.get_by_role("button", name="Set the fault").click()
    fault = page.get_by_role("listitem", name=re.compile("Fault"))
    fault.get_by_text("Produce: respond with the error NOT_LEADER_OR_FOLLOWER", exact=True).wait_for()
    fault.get_by_text("topic faulty · the first 2", exact=True).wait_for()
    fault.get_by_text("not fired").wait_for()
    produce(three, "faulty", 1)
    fault.get_by_text("fired 2 times").wait_for()
    fault.get_by_text("matching requests").click()
    assert "faulty-0" in fault.get_by_role("list").inner_text()
    fault.get_by_role("button", name="Remove").click()
    fault.wait_for(state="detached")
    page.get_by_text("No faults are set").wait_for()


@pytest.mark.parametrize("width", [390, 1280])
def test_name_of_an_error_is_shown_completely(page: "Page", width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    visit(page, "#/faults")
    error = page.get_by_role("form", name="New fault").get_by_role("combobox", name="Error")
    error.fill("TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
    assert error.evaluate("input => input.scrollWidth <= input.clientWidth")


def test_impossible_fault_is_explained(page: "Page") -> None:
    visit(page, "#/faults")
    form = page.get_by_role("form", name="New fault")
    form.get_by_label("API").fill("Produse")
    form.get_by_role("button", name="Set the fault").click()
    assert "did you mean Produce" in form.get_by_role("alert").inner_text()


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("delay", {"delay": 2}),
        ("hang", {"hang": True}),
        ("before", {"disconnect": "before"}),
        ("drop_response", {"drop_response": True}),
        ("throttle", {"throttle": 1}),
    ],
)
def test_fault_has_the_chosen_effect(page: "Page", three: Asking, effect: str, expected: dict[str, object]) -> None:
    visit(page, "#/faults")
    form = page.get_by_role("form", name="New fault")
    form.get_by_label("API").fill("Produce")
    form.get_by_label("Client id").fill("nobody")
    form.get_by_label("What happens").select_option(effect)
    form.get_by_role("button", name="Set the fault").click()
    page.get_by_text("The fault is set").wait_for()
    [fault] = three.get("/v1/faults")["faults"]
    three.ask("DELETE", "/v1/faults")
    assert fault["options"].items() >= expected.items()


# Cluster and clock


def test_clock_is_advanced(browser: "Browser") -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("aged", config={"retention.ms": 3_600_000}).send("old")
        visit(page, "#/cluster")
        page.get_by_role("button", name="Advance by 1 d").click()
        page.get_by_text("24 h ahead").wait_for()
        visit(page, "#/topics/aged/0")
        page.get_by_text("1 deleted").wait_for()
        assert api.cluster.topic("aged").records() == []


def test_broker_is_stopped_and_started(browser: "Browser") -> None:
    with asking(brokers=2) as api, opened(browser, api.control.url) as page:
        visit(page, "#/cluster")
        page.get_by_role("button", name="Stop broker 2").click()
        page.get_by_role("button", name="Start broker 2").wait_for()
        page.get_by_text("1 of 2 brokers").wait_for()
        assert not api.get("/v1/brokers/2")["is_running"]
        page.get_by_role("button", name="Start broker 2").click()
        page.get_by_role("button", name="Stop broker 2").wait_for()
        assert api.get("/v1/brokers/2")["is_running"]


def test_cluster_is_reset_after_confirmation(browser: "Browser") -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        api.cluster.topic("old").create()
        visit(page, "#/cluster")
        page.get_by_role("button", name="Reset the cluster").click()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Reset the cluster").click()
        page.get_by_role("button", name="Reset", exact=True).click()
        page.get_by_text("The cluster is empty.").wait_for()
        api.cluster.topic("new").create()
        visit(page, "#/topics")
        page.get_by_role("article", name="Topic new").wait_for()
        assert page.get_by_role("article").count() == 1


def test_connections_and_counts_are_listed(page: "Page", three: Asking) -> None:
    producer = Producer({"bootstrap.servers": three.cluster.bootstrap_servers, "client.id": "connected-1"})
    producer.list_topics(timeout=20)
    visit(page, "#/cluster")
    page.get_by_role("row").filter(has_text="connected-1").first.wait_for()
    page.get_by_role("listitem").filter(has_text="Metadata").first.wait_for()


def test_state_of_the_brokers_is_not_shown_as_current_after_the_connection_was_lost(browser: "Browser") -> None:
    with asking() as api, opened(browser, api.control.url) as page:
        visit(page, "#/cluster")
        state = page.get_by_role("cell", name="running")
        color = "cell => getComputedStyle(cell).color"
        live = state.evaluate(color)
        api.control.close()
        page.get_by_text("connection lost").wait_for()
        expect(page.get_by_role("cell", name="running, last known")).to_have_count(1)
        assert state.evaluate(color) != live


def test_buttons_of_a_broker_are_on_a_narrow_screen(page: "Page") -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, "#/cluster")
    for name in ("Stop broker 1", "Hold the replication of broker 1", "Release the replication of broker 1"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


# The frame


def test_page_is_used_with_the_keyboard_only(page: "Page", three: Asking) -> None:
    three.cluster.topic("keyboard-a").create(2)
    three.cluster.topic("keyboard-b").send("one")
    three.cluster.topic("keyboard-b").send("two")
    page.get_by_role("article", name="Topic keyboard-b").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("keyboard")
    page.keyboard.press("Escape")
    for key in "jjjjkjj":  # the names of the topics are rows, too
        page.keyboard.press(key)
    row = page.get_by_role("button", name="Open partition 0 of keyboard-b")
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    detail = page.get_by_role("complementary", name="Partition 0 of keyboard-b")
    detail.get_by_role("button", name="Open the records of batch 1").wait_for()
    page.keyboard.press("Escape")
    detail.wait_for(state="hidden")
    expect(row).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.get_by_role("tab", name="Records", selected=True).wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="Groups", selected=True).wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def test_skip_link_leads_to_the_content(page: "Page") -> None:
    visit(page, "#/faults")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.get_by_role("tab", name="Faults").get_attribute("aria-selected") == "true"


def test_roles_and_names_describe_the_page(page: "Page") -> None:
    assert page.get_by_role("banner").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Panels").count() == 1
    tabs = page.get_by_role("tab")
    for tab in tabs.all():
        tab.click()
        panel = page.get_by_role("tabpanel")
        expect(panel).to_have_attribute("aria-labelledby", tab.get_attribute("id") or "")
        nameless = panel.evaluate(
            """panel => [...panel.querySelectorAll("button, a, input, select, textarea")].filter(each =>
                each.checkVisibility() && !each.ariaLabel && !each.labels?.length && !each.innerText?.trim())
                .map(each => each.outerHTML)"""
        )
        assert nameless == []
    assert tabs.count() == page.locator("[role=tab]").count() > 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_and_is_remembered(browser: "Browser", three: Asking, scheme: str) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, three.control.url, color_scheme=scheme) as page:
        first = page.evaluate(ground)
        page.keyboard.press("d")
        second = page.evaluate(ground)
        page.reload()
        assert page.evaluate(ground) == second != first
        dark = first if scheme == "dark" else second
        assert max(int(part) for part in dark.removeprefix("rgb(").rstrip(")").split(",")) < 64


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(browser: "Browser", three: Asking, scheme: str) -> None:
    produce(three, "contrast", 3)
    with opened(browser, three.control.url, color_scheme=scheme) as page:
        places = ("topics/contrast/0", "records/contrast", "groups", "transactions", "journal", "faults", "cluster")
        for place in places:
            visit(page, f"#/{place}")
            page.get_by_role("tab", selected=True, name=place.partition("/")[0]).wait_for()
            assert page.evaluate(CONTRAST) == []


CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const isLeftOut = element.closest("noscript, option, :disabled, .deleted, .unreplicated");
    if (isLeftOut || !element.checkVisibility() || !walker.currentNode.data.trim()) continue;
    const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${walker.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
"""Returns the visible texts whose contrast is below 4.5 (WCAG 2.1 AA)."""


def test_page_connects_again_after_the_broker_has_restarted(browser: "Browser") -> None:
    with asking() as api:
        port = api.control.port
        with opened(browser, api.control.url) as page:
            api.cluster.topic("before").create()
            page.get_by_role("article", name="Topic before").wait_for()
            api.control.close()
            page.get_by_text("connection lost").wait_for()
            with asking(control_port=port) as again:
                again.cluster.topic("after").create()
                page.get_by_role("article", name="Topic after").wait_for()
                assert page.get_by_role("article").count() == 1
                assert page.locator("#connection").inner_text() == "live"


def test_faults_are_those_of_the_broker_that_was_started_again(browser: "Browser") -> None:
    """Their ids are those of the earlier faults."""
    with asking() as api:
        port = api.control.port
        api.post("/v1/faults", {"api": "Fetch", "delay": 1})
        with opened(browser, api.control.url) as page:
            visit(page, "#/faults")
            page.get_by_text("Fetch: delay it by 1 s", exact=True).wait_for()
            api.control.close()
            page.get_by_text("connection lost").wait_for()
            with asking(control_port=port) as again:
                again.post("/v1/faults", {"api": "Produce", "delay": 2})
                page.get_by_text("Produce: delay it by 2 s", exact=True).wait_for()
                assert page.get_by_text("Fetch: delay it by 1 s", exact=True).count() == 0


def test_page_asks_for_the_token_once(browser: "Browser") -> None:
    with asking(token=TOKEN) as api:
        api.cluster.topic("secret").create()
        with opened(browser, api.control.url) as page:
            dialog = page.get_by_role("dialog", name="Token of the control API")
            dialog.get_by_label("Token").fill("wrong")
            page.keyboard.press("Enter")
            dialog.get_by_text("This token is wrong").wait_for()
            dialog.get_by_label("Token").fill(TOKEN)
            page.keyboard.press("Enter")
            page.get_by_role("article", name="Topic secret").wait_for()
            page.reload()
            page.get_by_role("article", name="Topic secret").wait_for()
            assert dialog.count() == 0


OUTSIDE = """() => {
  const right = (element) => element.getBoundingClientRect().right;
  const outside = [...document.querySelectorAll("body *")].filter((element) => {
    if (!element.checkVisibility() || element.closest(".hidden, .skip")) return false;
    const scroll = element.parentElement.closest(".scroll, pre");
    const card = element.parentElement.closest(".topic, .card, .detail, .inline-form");
    const isLeftOut = scroll !== null && scroll !== element;
    return !isLeftOut && (right(element) > innerWidth + 1 || (card !== null && right(element) > right(card) + 1));
  });
  return outside.map((element) => element.outerHTML.slice(0, 200));
}"""
"""Returns the elements that leave the window or their card, other than those that scroll inside it."""

OVERLAPPING = """() => {
  const cells = [...document.querySelectorAll("th, td, article header > *, .card header > *")]
    .filter((cell) => cell.checkVisibility()).map((cell) => [cell, cell.getBoundingClientRect()]);
  const isCut = (cell) => cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).overflowX === "visible";
  return cells.filter(([cell, box]) => (cell.matches("th, td") && isCut(cell)) || cells.some(([other, beside]) =>
    cell !== other && cell.parentElement === other.parentElement && box.left < beside.left &&
    box.right > beside.left + 1 && box.top < beside.bottom - 1 && beside.top < box.bottom - 1))
    .map(([cell]) => cell.outerHTML.slice(0, 200));
}"""
"""Returns the cells, and parts of headings, that overlap with what is beside them."""


@contextmanager
def long_names() -> Iterator[tuple[Asking, str]]:
    """A topic, a group, clients, a transaction and a fault with the longest names. Yields the name of the topic."""
    topic, client = "topic." + "long-name" * 24 + "x", "client-" + "c" * 69
    with asking(brokers=3) as api, consumer_of_long_names(api, topic, client):
        producer = Producer(
            {
                "bootstrap.servers": api.cluster.bootstrap_servers,
                "client.id": client,
                "transactional.id": "transactional-" + "t" * 87,
            }
        )
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(topic, "x" * 300, "k" * 300, partition=0, headers={"h" * 100: "v" * 300})
        assert producer.flush(20) == 0
        api.post(
            "/v1/faults", {"api": "Fetch", "error": "TOPIC_AUTHORIZATION_FAILED", "client_id": "n" * 76, "topic": topic}
        )
        yield api, topic
        producer.abort_transaction()


@contextmanager
def consumer_of_long_names(api: Asking, topic: str, client: str) -> Iterator[None]:
    assert (len(topic), len(client)) == (223, 76)
    api.cluster.topic(topic).create(3, replication_factor=3).send("first")
    with consumer(api, "group-" + "g" * 95, topic, **{"client.id": client}):
        yield


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_long_names_stay_in_their_place(browser: "Browser", width: int) -> None:
    with long_names() as (api, topic), opened(browser, api.control.url) as page:
        page.set_viewport_size({"width": width, "height": 800})
        for place, row in {
            "topics": "Open partition 0 of",
            f"topics/{topic}/0": "Open the records of batch 0",
            f"records/{topic}": "Open record 0 of partition 0",
            "groups": "Evict client-",
            "transactions": "Abort transactional-",
            "journal": "Open InitProducerId of client-",
            "faults": "Remove fault",
            "cluster": "Reset the connection",
        }.items():
            visit(page, f"#/{place}")
            opener = page.get_by_role("tabpanel").get_by_role("button", name=re.compile(f"^{row}")).first
            opener.wait_for()
            if place.startswith("records") or place == "journal":
                opener.click()
                page.get_by_role("complementary").wait_for()
            assert page.evaluate(OUTSIDE) == [], place
            assert page.evaluate(OVERLAPPING) == [], place
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
