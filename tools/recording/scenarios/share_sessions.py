"""Share sessions (KIP-932): their epochs, their partitions, and what each response contains."""

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, batch
from kafkalet_conformance.shares import ACCEPT, GONE, OPEN, M, N, Reader, Share, of, part, parts
from tools.recording.definitions import SHARE_GROUPS, Scenarios

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareFetch=1)

LAST = 2147483647


@scenario("KIP-932 ShareSession SharePartitionManager", level="must")
def share_session_epochs(ask: ScenarioBuilder) -> None:
    """A share session accepts only its next epoch; 0 opens it again, and -1 closes it."""
    t = ask.topic()
    group = Share(ask)
    group.joined(M, t)
    Reader(group).open(of("$t.id"))
    for v in ask.versions("ShareFetch"):
        group.fetch(f"v{v}: open", M, OPEN, of("$t.id"), version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 1", M, 1, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 1 again", M, 1, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: an epoch too early", M, 3, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch -2", M, -2, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: the largest epoch", M, LAST, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 2", M, 2, version=v, max_wait_ms=0)
        group.acknowledge(f"v{v}: acknowledge in epoch 2", M, 2, of("$t.id"), version=v)
        group.acknowledge(f"v{v}: acknowledge in epoch 3", M, 3, of("$t.id"), version=v)
        group.fetch(f"v{v}: open again", M, OPEN, of("$t.id"), version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 4 of the earlier session", M, 4, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: close", M, GONE, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: close again", M, GONE, version=v, max_wait_ms=0)
        group.fetch(f"v{v}: epoch 1 of a closed session", M, 1, version=v, max_wait_ms=0)


@scenario("KIP-932 ShareSession", level="must")
def share_session_partitions(ask: ScenarioBuilder) -> None:
    """The first response of a session has all partitions, later ones only those with records or errors; partitions
    can be added and forgotten.
    """
    t, _ = ask.topic(partitions=3), ask.topic("u")
    group = Share(ask)
    group.joined(M, t, "$u")
    reader = Reader(group)
    reader.open(parts("$t.id", 0, 1, 2), of("$u.id"))
    reader.close("")
    ask.produce(t, batch(10), partition=0)
    ask.produce(t, batch(10), partition=1)
    reader = Reader(group)
    reader.fetch("two partitions", parts("$t.id", 0, 2))
    reader.poll("nothing new")
    ask.produce(t, batch(20), partition=2)
    reader.fetch("one partition has a record")
    reader.fetch("add a partition", of("$t.id", partition=1))
    reader.poll("add an empty topic", of("$u.id"))
    reader.poll("forget two partitions", forgotten_topics_data=[{"topic_id": "$t.id", "partitions": [0, 2]}])
    ask.produce(t, batch(30), partition=0)
    ask.produce("$u", batch(30))
    reader.fetch("what is left")
    reader.poll("forget what was forgotten", forgotten_topics_data=[{"topic_id": "$t.id", "partitions": [0]}])
    reader.poll("forget what does not exist", forgotten_topics_data=[{"topic_id": "$t.id", "partitions": [9, -1]}])
    bogus = ask.let("bogus.id", UNKNOWN_TOPIC_ID)
    reader.poll("forget an unknown topic", forgotten_topics_data=[{"topic_id": bogus, "partitions": [0]}])
    reader.fetch("add it again", of("$t.id"))
    again = [{"topic_id": "$t.id", "partitions": [1]}]
    reader.poll("add and forget", of("$t.id", partition=1), forgotten_topics_data=again)
    ask.produce(t, batch(40), partition=1)
    reader.poll("after adding and forgetting")


@scenario("KIP-932 ShareSession")
def share_session_duplicates(ask: ScenarioBuilder) -> None:
    """A session cannot be opened with a partition twice; later requests can name it twice."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    group = Share(ask)
    group.joined(M, t)
    group.fetch("open with a partition twice", M, OPEN, parts("$t.id", 0, 0), max_wait_ms=0)
    group.fetch("open with a topic twice", M, OPEN, of("$t.id"), of("$t.id"), max_wait_ms=0)
    group.fetch("no session is open", M, 1, max_wait_ms=0)
    reader = Reader(group)
    reader.fetch("open", of("$t.id"), max_records=1)
    reader.poll("a partition twice", parts("$t.id", 0, 0))
    reader.poll("a topic twice", of("$t.id"), of("$t.id"))
    reader.acknowledge("acknowledge in two entries", of("$t.id", (0, 0, ACCEPT)), of("$t.id", (1, 1, ACCEPT)))
    reader.poll("what is left")
    group.offsets("offsets", t)


@scenario("KIP-932 ShareSession")
def share_session_unknown_topics(ask: ScenarioBuilder) -> None:
    """Partitions and topics that do not exist stay in the session, and are an error in each response."""
    t = ask.topic()
    bogus = ask.let("bogus.id", UNKNOWN_TOPIC_ID)
    ask.produce(t, batch(10))
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.poll("an unknown topic", of(bogus))
    reader.poll("an unknown partition", of("$t.id", partition=7))
    reader.poll("a negative partition", of("$t.id", partition=-1))
    reader.poll("the zero topic", of("ZERO"))
    reader.fetch("a partition that exists", of("$t.id"))
    reader.poll("all of them again")
    forgotten = [{"topic_id": bogus, "partitions": [0]}, {"topic_id": "$t.id", "partitions": [7]}]
    reader.poll("forget two of them", forgotten_topics_data=forgotten)
    reader.acknowledge("acknowledge in an unknown topic", of(bogus, (0, 0, ACCEPT)), of("$t.id", (0, 0, ACCEPT)))
    unknown = {"topic_id": "$t.id", "partitions": [part(7, (0, 0, ACCEPT)), part(-1, (0, 0, ACCEPT))]}
    reader.acknowledge("acknowledge in unknown partitions", unknown)


@scenario("KIP-932 SharePartitionManager")
def share_session_without_partitions(ask: ScenarioBuilder) -> None:
    """A session can be opened without partitions, which are added later."""
    t = ask.topic()
    ask.produce(t, batch(10))
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.poll("open without partitions")
    reader.poll("still none")
    reader.acknowledge("acknowledge nothing")
    reader.acknowledge("acknowledge nothing in a partition", of("$t.id"))
    reader.fetch("add a partition", of("$t.id"))
    reader.acknowledge("acknowledge", of("$t.id", (0, 0, ACCEPT)))


@scenario("KIP-932 SharePartitionManager KafkaApis")
def share_session_closed_with_acknowledgements(ask: ScenarioBuilder) -> None:
    """The request that closes a session can acknowledge records; the others are released, and delivered again."""
    t = ask.topic()
    ask.produce(t, batch(10, 20, 30))
    group = Share(ask)
    group.joined(M, t)
    for offset, v in enumerate(ask.versions("ShareFetch")):
        reader = Reader(group)
        reader.fetch(f"v{v}: open", of("$t.id"), version=v)
        reader.epoch = GONE
        reader.poll(f"v{v}: close with a fetch", of("$t.id", (offset, offset, ACCEPT)), version=v)
    reader = Reader(group)
    reader.fetch("open", of("$t.id"))
    reader.close("close with an acknowledgement of another record", of("$t.id", (0, 0, ACCEPT)))
    reader = Reader(group)
    reader.fetch("open again", of("$t.id"))
    reader.close("close with an acknowledgement", of("$t.id", (2, 2, ACCEPT)))
    reader = Reader(group)
    reader.poll("nothing is left", of("$t.id"))


@scenario("KIP-932 SharePartition", level="must")
def share_session_replaced(ask: ScenarioBuilder) -> None:
    """A member that opens its session again keeps the records that it has acquired."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    again = Reader(group)
    again.poll("open again", of("$t.id"))
    again.acknowledge("accept", of("$t.id", (0, 1, ACCEPT)))
    group.offsets("offsets", t)


@scenario("KIP-932 SharePartitionManager")
def share_sessions_of_two_groups(ask: ScenarioBuilder) -> None:
    """Share groups are independent: each gets all records, and the same member id has a session in each."""
    t = ask.topic()
    ask.produce(t, batch(10, 20))
    one, other = Share(ask, "one"), Share(ask, "other")
    one.joined(M, t)
    other.joined(M, t)
    first, second = Reader(one), Reader(other, conn="second")
    first.fetch("first group", of("$t.id"))
    second.fetch("second group", of("$t.id"))
    first.acknowledge("first group accepts", of("$t.id", (0, 1, ACCEPT)))
    second.acknowledge("second group accepts the first record", of("$t.id", (0, 0, ACCEPT)))
    one.offsets("offsets of the first group", t)
    other.offsets("offsets of the second group", t)


@scenario("KIP-932 KafkaApis")
def share_fetch_without_joining(ask: ScenarioBuilder) -> None:
    """ShareFetch in a group that does not exist fails for each partition, as no member has initialized its state."""
    t = ask.topic()
    ask.produce(t, batch(10))
    group = Share(ask)
    group.configure(share_auto_offset_reset="earliest")
    ask.until("ReadShareGroupStateSummary", 0, group.state("$t.id", -1), "results.0.partitions.0.error_code", 0)
    reader = Reader(group)
    reader.fetch("a group that does not exist", of("$t.id"))
    reader.acknowledge("accept", of("$t.id", (0, 0, ACCEPT)))
    ask.request("describe", "ShareGroupDescribe", 1, {"group_ids": [group.id]})
    other = Reader(group, N, conn="second")
    other.poll("another member", of("$t.id"))
