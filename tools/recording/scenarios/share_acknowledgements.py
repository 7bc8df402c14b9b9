"""Acknowledgements of records in share groups (KIP-932, KIP-1222): types, batches, redelivery and its limits."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from kafkalet_conformance.shares import (
    ACCEPT,
    BY_RECORD_LIMIT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    M,
    N,
    Reader,
    Share,
    of,
    part,
    parts,
)
from tools.recording.definitions import SHARE_GROUPS, Scenarios

from .share_acquisition import FIVE, in_group

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareAcknowledge=1)


def acquired(ask: ScenarioBuilder, *batches: Step, **configs: str) -> Reader:
    """Return a member that has acquired these batches."""
    reader = Reader(in_group(ask, *batches, **configs))
    reader.fetch("", of("$t.id"))
    return reader


@scenario("KIP-932 SharePartition", level="must")
def share_types_per_record(ask: ScenarioBuilder) -> None:
    """A batch of acknowledgements has one type for all records, or one for each."""
    for v in ask.versions("ShareAcknowledge"):
        ask.produce(ask.topic(f"t{v}"), batch(10, 20, 30, 40, 50, 60))
        group = Share(ask, f"g{v}")
        group.joined(M, f"$t{v}")
        reader = Reader(group)
        topic = f"$t{v}.id"
        reader.fetch("", of(topic))
        kinds = (ACCEPT, RELEASE, REJECT, ACCEPT, RELEASE)
        reader.acknowledge(f"v{v}: one type for each", of(topic, (0, 4, kinds)), version=v)
        reader.fetch(f"v{v}: the released ones")
        reader.acknowledge(f"v{v}: one type for all", of(topic, (1, 1, ACCEPT), (4, 5, ACCEPT)), version=v)
        reader.poll(f"v{v}: nothing is left")
        group.offsets(f"v{v}: offsets", f"$t{v}")


@scenario("KIP-932 SharePartition", level="must")
def share_gaps(ask: ScenarioBuilder) -> None:
    """A gap that a member acknowledges counts as a record that does not exist, and is not delivered again."""
    reader = acquired(ask, FIVE)
    reader.acknowledge("gaps among records", of("$t.id", (0, 2, (ACCEPT, GAP, RELEASE))))
    reader.acknowledge("only gaps", of("$t.id", (3, 4, GAP)))
    reader.fetch("the released record")
    reader.acknowledge("the last one is a gap, too", of("$t.id", (2, 2, GAP)))
    reader.group.offsets("offsets", "$t")


@scenario("KIP-932 KafkaApis", level="must")
def share_invalid_acknowledgements(ask: ScenarioBuilder) -> None:
    """Acknowledgements with a wrong number of types, unknown types, or unordered or overlapping batches are refused as
    a whole.
    """
    reader = acquired(ask, FIVE)
    invalid: dict[str, Step] = {
        "two types for three records": of("$t.id", (0, 2, (ACCEPT, ACCEPT))),
        "four types for three records": of("$t.id", (0, 2, (ACCEPT, ACCEPT, ACCEPT, ACCEPT))),
        "no type": of("$t.id", (0, 2, ())),
        "type 5": of("$t.id", (0, 2, 5)),
        "type -1": of("$t.id", (0, 2, -1)),
        "type 9 among others": of("$t.id", (0, 2, (ACCEPT, 9, ACCEPT))),
        "last offset before the first": of("$t.id", (2, 0, ACCEPT)),
        "negative offsets": of("$t.id", (-2, -1, ACCEPT)),
        "unordered batches": of("$t.id", (3, 4, ACCEPT), (0, 1, ACCEPT)),
        "overlapping batches": of("$t.id", (0, 2, ACCEPT), (2, 4, ACCEPT)),
        "the same batch twice": of("$t.id", (0, 1, ACCEPT), (0, 1, ACCEPT)),
        "a good batch and a bad one": of("$t.id", (0, 1, ACCEPT), (2, 3, 7)),
        "a good batch and one that is past the end": of("$t.id", (0, 1, ACCEPT), (5, 6, ACCEPT)),
        "a batch that ends past the end": of("$t.id", (3, 5, ACCEPT)),
        "a very large batch": of("$t.id", (0, 1 << 40, ACCEPT)),
    }
    for v in ask.versions("ShareAcknowledge"):
        for case, topic in invalid.items():
            reader.acknowledge(f"v{v}: {case}", topic, version=v)
    for case, topic in invalid.items():
        reader.poll(f"in a fetch: {case}", topic)
    reader.acknowledge("all records are still acquired", of("$t.id", (0, 4, RELEASE)))
    reader.fetch("all records again")
    reader.acknowledge("from a negative offset", of("$t.id", (-1, 1, ACCEPT)))
    reader.acknowledge("the rest", of("$t.id", (2, 4, ACCEPT)))


@scenario("KIP-932 SharePartition", level="must")
def share_acknowledged_twice(ask: ScenarioBuilder) -> None:
    """A record that was acknowledged cannot be acknowledged again, unless the start offset has passed it; then it is
    ignored.
    """
    reader = acquired(ask, FIVE, batch(60, 70))
    reader.acknowledge("accept in the middle", of("$t.id", (2, 3, ACCEPT)))
    for case, kind in (("accept", ACCEPT), ("release", RELEASE), ("reject", REJECT)):
        reader.acknowledge(f"{case} again", of("$t.id", (2, 3, kind)))
        reader.acknowledge(f"{case} one again", of("$t.id", (2, 2, kind)))
    reader.acknowledge("accept more than was accepted", of("$t.id", (1, 4, ACCEPT)))
    reader.acknowledge("release", of("$t.id", (4, 4, RELEASE)))
    reader.acknowledge("accept what is released", of("$t.id", (4, 4, ACCEPT)))
    reader.acknowledge("accept the beginning", of("$t.id", (0, 1, ACCEPT)))
    reader.acknowledge("accept before the start offset", of("$t.id", (0, 3, ACCEPT)))
    reader.acknowledge("reject before the start offset", of("$t.id", (1, 2, REJECT)))
    reader.acknowledge("from before the start offset", of("$t.id", (2, 5, ACCEPT)))
    reader.acknowledge("the next batch", of("$t.id", (5, 6, ACCEPT)))
    reader.fetch("the released record")


@scenario("KIP-932 SharePartition", level="must")
def share_acknowledge_batches(ask: ScenarioBuilder) -> None:
    """Acknowledgements need not be for the batches that were acquired: they can be for parts of them, or for
    several.
    """
    reader = acquired(ask, FIVE, batch(60, 70), batch(80, 90))
    reader.acknowledge("the end of one and the next", of("$t.id", (3, 6, ACCEPT)))
    reader.acknowledge("the beginning, one by one", of("$t.id", (0, 0, ACCEPT), (1, 1, REJECT), (2, 2, ACCEPT)))
    reader.group.offsets("offsets after two batches", "$t")
    reader.acknowledge("the last batch in two", of("$t.id", (7, 7, RELEASE), (8, 8, ACCEPT)))
    reader.group.offsets("offsets before the released record", "$t")
    reader.fetch("the released record")
    reader.acknowledge("accept it", of("$t.id", (7, 7, ACCEPT)))
    reader.group.offsets("offsets at the end", "$t")


@scenario("KIP-932 SharePartition", level="must")
def share_acknowledge_in_fetch(ask: ScenarioBuilder) -> None:
    """ShareFetch acknowledges records before it fetches; errors of the two are separate."""
    reader = acquired(ask, FIVE)
    reader.poll("accept", of("$t.id", (0, 1, ACCEPT)))
    reader.poll("accept again", of("$t.id", (0, 1, ACCEPT)))
    reader.poll("accept what is not there", of("$t.id", (17, 18, ACCEPT)))
    ask.produce("$t", batch(60, 70))
    reader.fetch("accept what is not there, with new records", of("$t.id", (17, 18, ACCEPT)))
    reader.fetch("release, and get it again", of("$t.id", (2, 2, RELEASE)))
    reader.poll("accept, and fetch nothing", of("$t.id", (2, 6, ACCEPT)), max_records=0)
    reader.group.offsets("offsets", "$t")


@scenario("KIP-932 SharePartition", level="must")
def share_acknowledge_of_others(ask: ScenarioBuilder) -> None:
    """Only the member that has acquired a record can acknowledge it, also after it was delivered to another one."""
    group = in_group(ask, FIVE)
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("", of("$t.id"))
    second.fetch("", of("$t.id"), max_wait_ms=0)
    second.acknowledge("second member accepts", of("$t.id", (0, 1, ACCEPT)))
    first.acknowledge("first member releases", of("$t.id", (0, 1, RELEASE)))
    second.fetch("second member gets them")
    first.acknowledge("first member accepts", of("$t.id", (0, 1, ACCEPT)))
    first.acknowledge("first member accepts all", of("$t.id", (0, 4, ACCEPT)))
    second.acknowledge("second member accepts all", of("$t.id", (0, 4, ACCEPT)))
    second.acknowledge("second member accepts its own", of("$t.id", (0, 1, ACCEPT)))
    first.acknowledge("first member accepts its own", of("$t.id", (2, 4, ACCEPT)))
    group.offsets("offsets", "$t")


@scenario("KIP-932 SharePartition", level="must")
def share_delivery_count(ask: ScenarioBuilder) -> None:
    """A released record is delivered again, with a higher delivery count, until it reaches the limit of its group."""
    reader = Reader(in_group(ask, batch(10)))
    for delivery in range(1, 6):
        reader.fetch(f"delivery {delivery}", of("$t.id"))
        reader.acknowledge(f"release {delivery}", of("$t.id", (0, 0, RELEASE)))
    reader.poll("after the last delivery")
    reader.group.offsets("offsets", "$t")
    ask.produce("$t", batch(20))
    reader.fetch("the next record")


@scenario("KIP-932 ShareGroupConfig SharePartition", level="must")
def share_delivery_limit_of_group(ask: ScenarioBuilder) -> None:
    """The property share.delivery.count.limit of a group limits deliveries, also of records that are in flight."""
    reader = Reader(in_group(ask, batch(10, 20), share_delivery_count_limit="2"))
    for delivery in (1, 2):
        reader.fetch(f"delivery {delivery}", of("$t.id"))
        reader.acknowledge(f"release {delivery}", of("$t.id", (0, 1, RELEASE)))
    reader.poll("after two deliveries")
    reader.group.offsets("offsets", "$t")
    ask.produce("$t", batch(30, 40))
    reader.fetch("other records")
    key = {"resource_type": 32, "resource_name": reader.group.id, "configuration_keys": ["share.delivery.count.limit"]}
    reader.group.configure(share_delivery_count_limit=3)
    ask.until("DescribeConfigs", 1, {"resources": [key]}, "results.0.configs.0.value", "3")
    for delivery in (1, 2, 3):
        reader.acknowledge(f"with a higher limit: release {delivery}", of("$t.id", (2, 3, RELEASE)))
        reader.poll(f"with a higher limit: delivery {delivery + 1}")


@scenario("KIP-932 SharePartition", level="must")
def share_delivery_count_near_limit(ask: ScenarioBuilder) -> None:
    """When the records of a batch come near the limit of deliveries, fewer of them are delivered at once."""
    reader = Reader(in_group(ask, batch(*range(10, 110, 10))))
    acquired_each = [(0, 9), (0, 9), (0, 9), (0, 4), (0, 0), (1, 1), (2, 2)]
    for delivery, (first, last) in enumerate(acquired_each, 1):
        reader.fetch(f"fetch {delivery}", of("$t.id"))
        reader.acknowledge(f"release {delivery}", of("$t.id", (first, last, RELEASE)))
    reader.group.offsets("offsets", "$t")


@scenario("KIP-932 SharePartition", level="must")
def share_rejected(ask: ScenarioBuilder) -> None:
    """A rejected record is not delivered again, and does not count as lag."""
    reader = acquired(ask, FIVE)
    reader.acknowledge("reject the first", of("$t.id", (0, 0, REJECT)))
    reader.group.offsets("offsets", "$t")
    reader.acknowledge("reject in the middle", of("$t.id", (2, 2, REJECT)))
    reader.acknowledge("reject it again", of("$t.id", (2, 2, REJECT)))
    reader.acknowledge("release the others", of("$t.id", (1, 1, RELEASE), (3, 4, RELEASE)))
    reader.fetch("the others")
    reader.acknowledge("reject them all", of("$t.id", (1, 4, REJECT)))
    reader.acknowledge("reject one by one", of("$t.id", (1, 1, REJECT), (3, 4, REJECT)))
    reader.group.offsets("offsets at the end", "$t")


@scenario("KIP-932 SharePartition SharePartitionManager", level="must")
def share_released_on_close(ask: ScenarioBuilder) -> None:
    """A session that is closed releases its records without an effect on those that were acknowledged; a record that
    was delivered once keeps its delivery count.
    """
    group = in_group(ask, FIVE, batch(60, 70))
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member", of("$t.id"))
    first.acknowledge("accept one", of("$t.id", (1, 1, ACCEPT)))
    first.close("close")
    second.fetch("second member", of("$t.id"))
    second.acknowledge("accept all", of("$t.id", (0, 0, ACCEPT), (2, 6, ACCEPT)))
    group.offsets("offsets", "$t")


@scenario("KIP-932 GroupMetadataManager SharePartitionManager")
def share_member_leaves_with_records(ask: ScenarioBuilder) -> None:
    """A member that leaves the group keeps its session and its records until the session is closed."""
    group = in_group(ask, batch(10, 20))
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member", of("$t.id"))
    group.beat("leave", M, -1)
    second.poll("second member", of("$t.id"))
    first.acknowledge("accept after leaving", of("$t.id", (0, 0, ACCEPT)))
    first.close("close after leaving")
    second.fetch("second member again")


@scenario("KIP-932 GroupMetadataManager", level="must")
def share_member_expires(ask: ScenarioBuilder) -> None:
    """A member without heartbeats is removed after share.session.timeout.ms; what it has acquired stays locked."""
    group = in_group(ask, batch(10, 20), share_session_timeout_ms="45000", share_record_lock_duration_ms="60000")
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member", of("$t.id"))
    second.fetch("", of("$t.id"), max_wait_ms=0)
    ask.step("sleep", ms=45500)
    described = {"group_ids": [group.id], "include_authorized_operations": False}
    ask.request("describe", "ShareGroupDescribe", 1, described)
    group.beat("stay", M, 3)
    group.beat("leave", M, -1)
    second.poll("second member")
    first.acknowledge("accept after the removal", of("$t.id", (0, 0, ACCEPT)))


@scenario("KIP-932 SharePartition", level="must")
def share_lock_expires(ask: ScenarioBuilder) -> None:
    """A record that is not acknowledged within share.record.lock.duration.ms is released, and delivered again."""
    group = in_group(ask, batch(10, 20), share_record_lock_duration_ms="15000")
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member", of("$t.id"))
    first.acknowledge("accept one", of("$t.id", (0, 0, ACCEPT)))
    second.fetch("", of("$t.id"), max_wait_ms=0)
    ask.step("sleep", ms=15300)
    second.fetch("second member")
    first.acknowledge("the first member is too late", of("$t.id", (1, 1, ACCEPT)))
    second.acknowledge("second member accepts", of("$t.id", (1, 1, ACCEPT)))


@scenario("KIP-1222 SharePartition", level="must", ShareAcknowledge=2)
def share_lock_renewed(ask: ScenarioBuilder) -> None:
    """A member renews the lock of a record before it expires, and keeps the record for another duration."""
    group = in_group(ask, batch(10, 20), share_record_lock_duration_ms="15000")
    first, second = Reader(group), Reader(group, N, conn="second")
    first.fetch("first member", of("$t.id"))
    second.fetch("", of("$t.id"), max_wait_ms=0)
    ask.step("sleep", ms=8000)
    first.acknowledge("renew one", of("$t.id", (0, 0, RENEW)), is_renew_ack=True)
    ask.step("sleep", ms=8000)
    second.fetch("second member gets the other one")
    first.acknowledge("accept the renewed one", of("$t.id", (0, 0, ACCEPT)))
    first.acknowledge("accept the other one", of("$t.id", (1, 1, ACCEPT)))


@scenario("KIP-1222 KafkaApis", ShareAcknowledge=2)
def share_renew_errors(ask: ScenarioBuilder) -> None:
    """A renewal must be announced in the request; a fetch that renews must not fetch; and v1 does not know the type."""
    reader = acquired(ask, FIVE)
    renewed = of("$t.id", (0, 1, RENEW))
    reader.acknowledge("v1", renewed, version=1)
    reader.acknowledge("not announced", renewed)
    reader.acknowledge("announced", renewed, is_renew_ack=True)
    reader.acknowledge("announced, with other types", of("$t.id", (0, 2, (RENEW, ACCEPT, RELEASE))), is_renew_ack=True)
    reader.acknowledge("announced, without renewal", of("$t.id", (3, 3, ACCEPT)), is_renew_ack=True)
    reader.acknowledge("renew what was accepted", of("$t.id", (1, 1, RENEW)), is_renew_ack=True)
    reader.acknowledge("renew what is not there", of("$t.id", (8, 9, RENEW)), is_renew_ack=True)
    reader.poll("in a fetch, not announced", renewed)
    nothing = {"min_bytes": 0, "max_bytes": 0, "max_records": 0}
    epoch = reader.epoch
    for key in nothing:
        reader.poll(f"in a fetch with {key}", renewed, is_renew_ack=True, **nothing | {key: 1})
        reader.epoch = epoch
    reader.fetch("in a fetch that waits", renewed, is_renew_ack=True, max_wait_ms=1, **nothing)
    reader.epoch = epoch
    reader.poll("in a fetch", of("$t.id", (0, 0, RENEW)), is_renew_ack=True, **nothing)
    reader.poll("in a fetch without acknowledgements", is_renew_ack=True, **nothing)
    reader.acknowledge("what is still acquired", of("$t.id", (0, 0, ACCEPT), (4, 4, ACCEPT)))


@scenario("KIP-1222 ShareGroupConfig", ShareAcknowledge=2)
def share_renew_disabled(ask: ScenarioBuilder) -> None:
    """With share.renew.acknowledge.enable=false, a group refuses renewals."""
    reader = acquired(ask, FIVE, share_renew_acknowledge_enable="false")
    reader.acknowledge("renew", of("$t.id", (0, 4, RENEW)), is_renew_ack=True)
    reader.acknowledge("renew one", of("$t.id", (1, 1, RENEW)), is_renew_ack=True)
    reader.acknowledge("accept and renew", of("$t.id", (0, 1, (ACCEPT, RENEW))), is_renew_ack=True)
    reader.acknowledge("accept", of("$t.id", (0, 4, ACCEPT)))


@scenario("KIP-932 KafkaApis")
def share_acknowledge_several(ask: ScenarioBuilder) -> None:
    """One request acknowledges records of several partitions and topics, each with its own error."""
    t, u = ask.topic(partitions=2), ask.topic("u")
    group = Share(ask)
    group.joined(M, t, u)
    reader = Reader(group)
    reader.open(parts("$t.id", 0, 1), of("$u.id"))
    ask.produce(t, batch(10, 20), partition=0)
    ask.produce(t, batch(10, 20), partition=1)
    ask.produce(u, batch(10, 20))
    reader.fetch("all records")
    some = {"topic_id": "$t.id", "partitions": [part(0, (0, 0, ACCEPT)), part(1, (0, 7, ACCEPT)), part(5, (0, 0, 1))]}
    reader.acknowledge("several partitions", some, of("$u.id", (0, 1, (ACCEPT, 8))))
    reader.poll("in a fetch", of("$t.id", (1, 1, ACCEPT)), of("$u.id", (0, 1, ACCEPT)))
    reader.acknowledge("the rest", of("$t.id", (0, 1, ACCEPT), partition=1))


@scenario("KIP-1206 SharePartition", ShareFetch=2)
def share_parts_of_a_batch(ask: ScenarioBuilder) -> None:
    """Members that have acquired parts of one batch acknowledge only their own parts."""
    group = in_group(ask, batch(10, 20, 30, 40, 50, 60))
    first, second = Reader(group), Reader(group, N, conn="second")
    strict = {"share_acquire_mode": BY_RECORD_LIMIT}
    first.fetch("first member gets two", of("$t.id"), max_records=2, **strict)
    second.fetch("second member gets three", of("$t.id"), max_records=3, **strict)
    first.fetch("first member gets the last", max_records=3, **strict)
    second.acknowledge("second member accepts all", of("$t.id", (0, 5, ACCEPT)))
    second.acknowledge("second member releases one", of("$t.id", (3, 3, RELEASE)))
    first.fetch("first member gets it", max_records=3, **strict)
    first.acknowledge("first member accepts its own", of("$t.id", (0, 1, ACCEPT), (3, 3, ACCEPT), (5, 5, ACCEPT)))
    group.offsets("offsets", "$t")
    second.acknowledge("second member accepts its own", of("$t.id", (2, 2, ACCEPT), (4, 4, ACCEPT)))
    group.offsets("offsets at the end", "$t")
